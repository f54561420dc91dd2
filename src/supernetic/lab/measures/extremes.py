"""Measure `extremes`: the scores of the smallest and the largest network, and the worst mistakes of a supernet.

Paper: SCARLET-NAS, Table 8 (a network of skips alone, and the largest one) and Table 1 (pairs of networks that a
supernet orders against the truth).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Floats
from ...costs import costs_of
from ...samplers.extremes import extremes
from ...space import Archs, Space
from .measure import Measured, Report, Scoring, archs_of, plain_space, trained_space
from .ranking import table_of
from .scored import Scored


@dataclass(frozen=True)
class Extremes(Scored):
    """Scores of both extremes, and the share of networks above the largest; with a truth, pairs in the wrong order."""

    truth: str = ""  # a column of the table of the space; without it no mistakes are listed
    table: str = ""  # a file; by default the bundled table of the space
    pairs: int = 5  # mistakes to list

    @property
    def shown(self) -> tuple[str, ...]:
        """All metrics."""
        metrics = ("smallest", "largest", "above the largest")
        return (*metrics, "wrong pairs", "worst mistake") if self.truth else metrics

    def check(self, space: Space) -> list[str]:
        """The table must have the column of the truth."""
        if self.truth:
            table_of(space, self.table)[self.truth]
        return [*self.shown]

    def scorings(self, space: Space, run: Path | None = None) -> list[Scoring]:
        """Both extremes and the others, by the supernet at the end."""
        networks = plain_space(space) if run is None else trained_space(run)
        ends, others, _ = self._chosen(space, networks)
        return [Scoring(networks, archs_of(np.concatenate([ends, others])), self.how())]

    def _chosen(self, space: Space, networks: Space) -> tuple[Archs, Archs, Floats | None]:
        """Both extremes; random networks, those of the table if there is a truth; and their truth."""
        ends = np.array(extremes(networks), dtype=np.int8)
        if not self.truth:
            return ends, self.networks(networks), None
        table = table_of(space, self.table)
        rows = np.flatnonzero(np.isfinite(table[self.truth].values))
        rows = np.sort(np.random.default_rng(0).permutation(rows)[: self.n])
        return ends, table.archs[rows], table[self.truth].values[rows]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Score both extremes and `n` random networks; with a truth, networks of the table."""
        networks = trained_space(run)
        ends, archs, truth = self._chosen(space, networks)
        scores = self.scores(run, np.concatenate([ends, archs]), report)
        small, large, rest = float(scores[0]), float(scores[1]), scores[2:]
        values = {"smallest": small, "largest": large, "above the largest": float((rest > large).mean())}
        macs = costs_of(networks, ends).tolist()
        details: dict[str, Any] = {
            "ends": [[networks.format(tuple(a)), m] for a, m in zip(ends.tolist(), macs, strict=True)]
        }
        if truth is not None:
            wrong, listed = mistakes(rest, truth, self.pairs)
            values |= {"wrong pairs": wrong, "worst mistake": listed[0][2] if listed else 0.0}
            names = [networks.format(tuple(a)) for a in archs.tolist()]
            details["mistakes"] = [
                {"better": names[i], "worse": names[j], "truth": [float(truth[i]), float(truth[j])],
                 "score": [float(rest[i]), float(rest[j])]}
                for i, j, _ in listed
            ]  # fmt: skip
        return Measured(values, details)


def mistakes(score: Floats, truth: Floats, n: int) -> tuple[float, list[tuple[int, int, float]]]:
    """Find the pairs of networks that a score orders against the truth.

    Args:
        score: Scores, more is better.
        truth: The truth, more is better.
        n: How many mistakes to list.

    Returns:
        The share of pairs in the wrong order, and the worst mistakes as (better, worse, true difference); each network
        is listed at most once.
    """
    better = truth[:, None] - truth
    wrong = np.where((score[:, None] < score) & (better > 0), better, 0.0)
    share = float((wrong > 0).sum() / max(1, len(score) * (len(score) - 1) / 2))
    listed: list[tuple[int, int, float]] = []
    for flat in np.argsort(-wrong, axis=None, kind="stable"):
        i, j = divmod(int(flat), len(score))
        if not wrong[i, j] or len(listed) == n:
            break
        if not {i, j} & {k for pair in listed for k in pair[:2]}:
            listed.append((i, j, float(wrong[i, j])))
    return share, listed
