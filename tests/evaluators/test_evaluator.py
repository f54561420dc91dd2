from __future__ import annotations

from collections.abc import Sequence

from supernetic.evaluators import CombinedEvaluator
from supernetic.objective import Metrics
from supernetic.space import Arch


class Constant:
    def __init__(self, name: str, value: float, test: bool = False) -> None:
        self.metrics = (name,)
        self.test = frozenset(self.metrics if test else ())
        self.value = value

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        return [{self.metrics[0]: self.value + a[0]} for a in archs]


def test_together_merges_records_and_warnings() -> None:
    both = CombinedEvaluator((Constant("a/x", 1), Constant("test/y", 2, test=True)))
    assert both.metrics == ("a/x", "test/y")
    assert both.test == {"test/y"}
    assert both([(0,), (5,)]) == [{"a/x": 1, "test/y": 2}, {"a/x": 6, "test/y": 7}]
    assert both([]) == []
