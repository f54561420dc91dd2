from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from supernetic.evaluators.ensemble import EnsembleEvaluator
from supernetic.objective import Metrics
from supernetic.ranking.ensemble import RANK, RankEnsemble
from supernetic.space import Arch


@dataclass(frozen=True)
class Sums:
    """An evaluator of two numbers, the second of which may be of test images."""

    metrics: tuple[str, ...] = ("valid/cross_entropy", "test/accuracy")

    @property
    def test(self) -> frozenset[str]:
        return frozenset({"test/accuracy"})

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        return [{"valid/cross_entropy": float(sum(a)), "test/accuracy": float(-sum(a))} for a in archs]


def test_the_rank_is_added_and_depends_on_the_architecture_only() -> None:
    archs: list[Arch] = [(i, 2 * i) for i in range(10)]
    ensemble = EnsembleEvaluator(Sums(), RankEnsemble.of(["valid/cross_entropy"], Sums()(archs)))
    assert ensemble.metrics == ("valid/cross_entropy", "test/accuracy", RANK)
    together = ensemble(archs)
    assert [m[RANK] for m in together] == pytest.approx([1 - i / 9 for i in range(10)])  # less of it is better
    assert [ensemble([a])[0] for a in archs] == together


def test_a_rank_of_test_metrics_is_a_test_metric() -> None:
    answers = Sums()([(0,), (1,)])
    assert EnsembleEvaluator(Sums(), RankEnsemble.of(["valid/cross_entropy"], answers)).test == {"test/accuracy"}
    assert EnsembleEvaluator(Sums(), RankEnsemble.of(["test/accuracy"], answers)).test == {"test/accuracy", RANK}
