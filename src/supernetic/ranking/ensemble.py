"""The mean rank of a network by several metrics, among reference networks: a score of its own for each network.

Paper: as `ranking.combine`.
Differences: ranks of a list change with the list. Here they are places among reference networks that stay the same, so
that a search can ask for networks one by one and be resumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from .. import metrics as table
from ..errors import InputError
from ..objective import Metrics
from .correlation import average_ranks

RANK = "proxy/rank_ensemble"


@dataclass(frozen=True)
class RankEnsemble:
    """By metric, what it says of the reference networks, in ascending order of quality."""

    answers: dict[str, tuple[float, ...]]

    @classmethod
    def of(cls, metrics: Sequence[str], reference: Sequence[Metrics]) -> RankEnsemble:
        """From the answers for the reference networks; NaN is left out."""
        answers = {}
        for name in metrics:
            values = sorted(x for x in (quality(name, m) for m in reference) if not isnan(x))
            if len(set(values)) < 2:
                raise InputError(f"{name} cannot rank: it is the same for all {len(reference)} reference networks")
            answers[name] = tuple(values)
        if not answers:
            raise InputError("a rank ensemble needs at least one metric, got none")
        return cls(answers)

    def rank(self, metrics: Mapping[str, float]) -> float:
        """The mean over metrics of a network's place among the references: 0 the worst, 1 the best.

        Between two references it is interpolated, beyond the last one it stays within one more place. A NaN is last.
        """
        return float(np.mean([_place(values, quality(name, metrics)) for name, values in self.answers.items()]))

    def to_json(self) -> dict[str, list[float]]:
        """What `from_json` reads."""
        return {name: list(values) for name, values in self.answers.items()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> RankEnsemble:
        """The ensemble that `to_json` wrote."""
        return cls({name: tuple(values) for name, values in record.items()})


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
