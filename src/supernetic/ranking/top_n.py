"""The top-N protocol: how well a score orders the benchmark's best networks, and what those are made of.

Paper: "Single-path ranking correlations", sections 3.3 and 3.4, Fig. 3.
Differences: the random set is reported beside the series and does not enter tau_a. The caption of Fig. 3 divides an
operation's occurrences by the number of operations (5) although a cell has 6 edges; both shares are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, nan
from typing import Any

import numpy as np
import numpy.typing as npt

from ..space import Archs
from .correlation import Interval, count_pairs, tau

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TOP_SIZES = (10, 25, 50, 150, 250, 500)  # of the groups of best networks; as in the paper
RANDOM_NETWORKS = 1000


@dataclass(frozen=True)
class Group:
    """How a score orders some of the networks."""

    n: int
    tau: float  # as in "Single-path ranking correlations"
    interval: Interval  # 95 %
    mean_score: float

    def to_json(self) -> dict[str, Any]:
        """A record."""
        return {"n": self.n, "tau": self.tau, "interval": list(self.interval), "mean_score": self.mean_score}


def best_first(truth: Floats) -> Ints:
    """Row numbers by falling truth; equal values keep the order of the table."""
    return np.argsort(-truth, kind="stable")


def group(score: Floats, truth: Floats, rows: Ints) -> Group:
    """How a score orders some of the networks.

    Args:
        score: The score of each network, more for better.
        truth: The truth of each network, more for better.
        rows: The networks that count.

    Returns:
        Tau with its interval, and the mean score.
    """
    pairs = count_pairs(score[rows], truth[rows])
    mean = float(score[rows].mean()) if len(rows) else nan
    return Group(len(rows), pairs.tau(), pairs.interval(), mean)


def top_groups(score: Floats, truth: Floats, sizes: Sequence[int] = TOP_SIZES) -> list[Group]:
    """How a score orders the N truly best networks, for each N.

    Args:
        score: The score of each network, more for better.
        truth: The truth of each network, more for better.
        sizes: The values of N; those beyond the number of networks are cut to it.

    Returns:
        A group for each N, from small to large.
    """
    order = best_first(truth)
    return [group(score, truth, order[:n]) for n in sorted({min(n, len(truth)) for n in sizes})]


def top_share(score: Floats, truth: Floats, share: float) -> Group:
    """How a score orders the truly best `share` (0 to 1) of the networks."""
    return group(score, truth, top_rows(truth, share))


def top_rows(truth: Floats, share: float) -> Ints:
    """The rows of the truly best part of the networks, rounded up.

    Of equal truths at the border the later rows are taken; any other rule moves the tau of the top 10 % of
    NAS-Bench-201 or NAS-Bench-Macro by less than .01.
    """
    return np.argsort(truth, kind="stable")[len(truth) - ceil(len(truth) * share) :]


def random_group(score: Floats, truth: Floats, rng: np.random.Generator, size: int = RANDOM_NETWORKS) -> Group:
    """Networks drawn without regard to the truth: all of them where there are no more than `size`."""
    return group(score, truth, rng.permutation(len(truth))[:size])


def tau_a(groups: Sequence[Group]) -> float:
    """Tau of the mean score over N, as the paper has it; -1 is ideal, for then the best networks score highest."""
    return tau([g.n for g in groups], [g.mean_score for g in groups])


@dataclass(frozen=True)
class Usage:
    """What some networks are made of. Shares divide an operation's occurrences by networks times ..."""

    n: int
    usage: dict[str, float]  # fraction of the networks that contain the operation
    share: dict[str, float]  # ... choices per network (6 edges), so that shares add up to 1
    share_by_operations: dict[str, float]  # ... available operations, as in the caption of Fig. 3 (5 unless masked)

    def to_json(self) -> dict[str, Any]:
        """A record."""
        return {"n": self.n, "usage": self.usage, "share": self.share, "share_by_operations": self.share_by_operations}


def usage(archs: Archs, operations: Sequence[str]) -> Usage:
    """Count the operations of networks whose choices all have the same options.

    Args:
        archs: The networks, one per row.
        operations: The options' names in the order of the genes.

    Returns:
        How often each operation is used.
    """
    n, choices = archs.shape
    hits = {op: archs == gene for gene, op in enumerate(operations)}
    return Usage(
        n,
        {op: float(h.any(axis=1).mean()) for op, h in hits.items()},
        {op: float(h.sum() / (n * choices)) for op, h in hits.items()},
        {op: float(h.sum() / (n * len(operations))) for op, h in hits.items()},
    )
