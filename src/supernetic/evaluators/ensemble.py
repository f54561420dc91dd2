"""The joint score of a supernet and of zero-cost proxies: a mean rank, beside the metrics it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..objective import Metrics
from ..ranking.ensemble import RANK, RankEnsemble
from ..space import Arch
from .evaluator import Evaluator


@dataclass(frozen=True)
class EnsembleEvaluator:
    """Adds a mean rank to the metrics of another evaluator; a higher rank is better.

    Args:
        evaluate: The evaluator whose metrics are ranked.
        ensemble: Turns these metrics into one rank.
    """

    evaluate: Evaluator
    ensemble: RankEnsemble

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the other evaluator, and the rank."""
        return (*self.evaluate.metrics, RANK)

    @property
    def test(self) -> frozenset[str]:
        """The test metrics of the other evaluator, and the rank if it is made of one of them."""
        test = self.evaluate.test
        return test | {RANK} if test & self.ensemble.answers.keys() else test

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture."""
        return [{**m, RANK: self.ensemble.rank(m)} for m in self.evaluate(archs)]
