"""The joint score of a supernet and of training-free voters: `proxy/rank_ensemble`, beside what each of them says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..objective import Metrics
from ..ranking.ensemble import RANK, RankEnsemble
from ..space import Arch
from .evaluator import Evaluator


@dataclass(frozen=True)
class EnsembleEvaluator:
    """Another evaluator's metrics, and the rank that those on the ballot give together; more is better."""

    evaluate: Evaluator
    ballot: RankEnsemble

    @property
    def metrics(self) -> tuple[str, ...]:
        """The other evaluator's, and the rank."""
        return (*self.evaluate.metrics, RANK)

    @property
    def test(self) -> frozenset[str]:
        """The other evaluator's, and the rank if one of those votes."""
        known = self.evaluate.test
        return known | {RANK} if known & self.ballot.answers.keys() else known

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture."""
        return [{**m, RANK: self.ballot.rank(m)} for m in self.evaluate(archs)]
