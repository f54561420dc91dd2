"""A vote that knows its voters' usual answers: the score of one network, whatever is asked with it.

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
            known = sorted(x for x in (quality(name, m) for m in reference) if not isnan(x))
            if len(set(known)) < 2:
                raise InputError(f"{name} cannot vote: it says the same of all {len(reference)} reference networks")
            answers[name] = tuple(known)
        if not answers:
            raise InputError("a vote needs at least one metric, got none")
        return cls(answers)

    def rank(self, metrics: Mapping[str, float]) -> float:
        """The mean over metrics of a network's place among the references: 0 the worst, 1 the best.

        Between two references it is interpolated, beyond the last one it stays within one more place. A NaN is last.
        """
        return float(np.mean([_place(known, quality(name, metrics)) for name, known in self.answers.items()]))

    def to_json(self) -> dict[str, list[float]]:
        """What `from_json` reads."""
        return {name: list(known) for name, known in self.answers.items()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> RankEnsemble:
        """The ballot that `to_json` wrote."""
        return cls({name: tuple(known) for name, known in record.items()})


def quality(name: str, metrics: Mapping[str, float]) -> float:
    """A metric with its sign turned where less of it is better."""
    return table.quality(name, metrics[name])


def _place(known: Sequence[float], value: float) -> float:
    if isnan(value):
        value = known[0]
    values, first = np.unique(known, return_index=True)
    places = (average_ranks(np.array(known))[first] - 1) / (len(known) - 1)  # equal answers share their mean place
    beyond = (max(value - values[-1], 0) + min(value - values[0], 0)) / (values[-1] - values[0])
    return float(np.interp(value, values, places) + beyond / (1 + abs(beyond)) / (len(known) - 1))
