"""The joint rank of a network by several metrics, among reference networks: a score of its own for each network.

Paper: as `ranking.combine`.
Differences: ranks of a list change with the list. Here they are places among reference networks that stay the same, so
that a search can ask for networks one by one and be resumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, log
from typing import Any

import numpy as np

from .. import metrics as table
from ..errors import InputError, UnknownNameError
from ..objective import Metrics
from .combine import AZ_RANK, MEAN_RANK
from .correlation import average_ranks

RANK = "proxy/rank_ensemble"
WAYS = (MEAN_RANK, AZ_RANK)


@dataclass(frozen=True)
class RankEnsemble:
    """What several metrics say of the reference networks, and how their ranks become one.

    Args:
        answers: By metric, the answers in ascending order of quality.
        how: `mean-rank` or `az-rank` (`ranking.combine`).
    """

    answers: dict[str, tuple[float, ...]]
    how: str = MEAN_RANK

    def __post_init__(self) -> None:
        if self.how not in WAYS:
            raise UnknownNameError("way to rank among references", self.how, WAYS)

    @classmethod
    def of(cls, metrics: Sequence[str], reference: Sequence[Metrics], how: str = MEAN_RANK) -> RankEnsemble:
        """From the answers for the reference networks; NaN is left out, and a metric that tells none apart."""
        if not metrics:
            raise InputError("a rank ensemble needs at least one metric, got none")
        answers = {}
        for name in metrics:
            values = sorted(x for x in (quality(name, m) for m in reference) if not isnan(x))
            if len(set(values)) > 1:
                answers[name] = tuple(values)
        if not answers:
            names = ", ".join(metrics)
            raise InputError(f"{names} cannot rank: it is the same for all {len(reference)} reference networks")
        return cls(answers, how)

    def rank(self, metrics: Mapping[str, float]) -> float:
        """The mean over metrics of what a network's place among the references is worth.

        Places run from 0, the worst, to 1, the best, and are worth themselves by mean rank; by AZ-NAS's aggregation
        they are worth log(rank / n), with ranks from 1, the worst, to n, the best. Between two references a place is
        interpolated, beyond the last one it stays within one more place. A NaN is last.
        """
        worth = [self._worth(values, quality(name, metrics)) for name, values in self.answers.items()]
        return float(np.mean(worth))

    def _worth(self, reference: Sequence[float], value: float) -> float:
        place = _place(reference, value)
        if self.how == MEAN_RANK:
            return place
        n = len(reference)
        rank = 1 + place * (n - 1) if place >= 0 else 1 + place * (n - 1) / 2  # never down to 0, whose log is infinite
        return log(rank / n)

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return {"how": self.how, "answers": {name: list(values) for name, values in self.answers.items()}}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> RankEnsemble:
        """The ensemble that `to_json` wrote; a record of nothing but answers is a mean rank."""
        answers = record.get("answers", record)
        return cls({name: tuple(values) for name, values in answers.items()}, record.get("how", MEAN_RANK))


def quality(name: str, metrics: Mapping[str, float]) -> float:
    """A metric with its sign turned where less of it is better."""
    return table.quality(name, metrics[name])


def _place(reference: Sequence[float], value: float) -> float:
    if isnan(value):
        value = reference[0]
    values, first = np.unique(reference, return_index=True)
    last = len(reference) - 1
    places = (average_ranks(np.array(reference))[first] - 1) / last  # equal answers share their mean place
    beyond = (max(value - values[-1], 0) + min(value - values[0], 0)) / (values[-1] - values[0])
    return float(np.interp(value, values, places) + beyond / (1 + abs(beyond)) / last)
