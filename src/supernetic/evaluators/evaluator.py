"""What an evaluator is, and several evaluators as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..objective import Metrics
from ..space import Arch


class Evaluator(Protocol):
    """Anything that turns architectures into metrics.

    It takes many architectures at a time, so that they can share work. The answer for one of them must not depend on
    the others, nor on earlier calls; `supernetic.testing.check_evaluator` tests that.
    """

    @property
    def metrics(self) -> tuple[str, ...]:
        """Full names of the metrics in an answer, such as `valid/accuracy`."""

    @property
    def test(self) -> frozenset[str]:
        """The metrics that come from test data and must not steer a search."""

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """Evaluate architectures.

        Args:
            archs: The architectures.

        Returns:
            One record per architecture, in the same order; a metric without a value is NaN.
        """


@dataclass(frozen=True)
class CombinedEvaluator:
    """Several evaluators as one: a record holds the metrics of all of them."""

    parts: tuple[Evaluator, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of all parts, in their order."""
        return tuple(name for part in self.parts for name in part.metrics)

    @property
    def test(self) -> frozenset[str]:
        """The test metrics of all parts."""
        return frozenset[str]().union(*(part.test for part in self.parts))

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture, merged from those of the parts."""
        answers = [part(archs) for part in self.parts]
        return [{k: v for record in records for k, v in record.items()} for records in zip(*answers, strict=True)]
