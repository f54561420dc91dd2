"""Measure `ranking`: how well a supernet orders the best networks of a table, and random ones.

Paper: "Single-path ranking correlations", section 3.
Differences: BN uses the statistics of each batch by default; the paper uses running ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np

from ... import catalog
from ...arrays import Ints
from ...benchmarks import Table
from ...errors import InputError, TableError
from ...jobs.train.score import SUBSET_METRICS, score
from ...metrics import quality
from ...ranking.top_n import RANDOM_NETWORKS, TOP_SIZES
from ...space import Space
from ..ranking_statistics import choose_networks, joint_tau_a, metric_names, ranking
from .measure import Measured, Report, Scoring, archs_of, plain_space
from .scored import BySupernet


@dataclass(frozen=True)
class Ranking(BySupernet):
    """Scores of the top-N and of random networks, correlated with a column of the space's table.

    Figures show the score that the settings name; metrics of the other one begin with its name.
    """

    truth: str = field(kw_only=True)  # a column of the table
    table: str = ""  # a file; by default the bundled table of the space
    sizes: tuple[int, ...] = TOP_SIZES  # of the sets of best networks
    random: int = RANDOM_NETWORKS  # random networks
    points: int = 0  # networks whose scores are kept for a scatter plot, at most

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sizes or min(self.sizes) < 2 or self.random < 2:
            raise InputError(
                f"sizes and random must be at least 2, got sizes {list(self.sizes)} and random {self.random}"
            )
        if self.points < 0:
            raise InputError(f"points must be at least 0, got {self.points}")

    @property
    def shown(self) -> tuple[str, ...]:
        """tau_a of the paper, and tau in every set of networks."""
        return ("joint tau_a", "tau_a", *(f"tau@{n}" for n in self.sizes), "tau@random", f"{self._other}/tau@random")

    @property
    def _other(self) -> str:
        return next(_short(s) for s in SUBSET_METRICS if s != self.score)

    def check(self, space: Space) -> list[str]:
        """There must be a table with the column of the truth and with two networks or more."""
        table = table_of(space, self.table)
        count = int(np.isfinite(table[self.truth].values).sum())
        if count < 2:
            raise InputError(f"a ranking needs at least 2 networks with {self.truth}, {space} leaves {count}")
        own = metric_names(self.sizes)
        return [*own, *(f"{self._other}/{n}" for n in own), "joint tau_a"]

    def scorings(self, space: Space, run: Path | None = None) -> list[Scoring]:
        """The best networks and the random ones."""
        table, best, random = self._chosen(space)
        return [Scoring(table.space, archs_of(table.archs[np.union1d(best, random)]), self.how())]

    def _chosen(self, space: Space) -> tuple[Table, Ints, Ints]:
        """The networks whose truth is known, and the rows of the best and of the random ones."""
        table = table_of(space, self.table)
        table = table.take(np.flatnonzero(np.isfinite(table[self.truth].values)))
        return table, *choose_networks(table[self.truth].values, self.sizes, self.random)

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Score the networks that were not scored before, and correlate all scores with the truth."""
        table, best, random = self._chosen(space)
        truth = table[self.truth].values
        rows = np.union1d(best, random)
        answers = score(run, table.space, archs_of(table.archs[rows]), **self.how(), progress=report)
        values: dict[str, float] = {}
        details: dict[str, Any] = {"networks": len(table), "scored": len(rows)}
        for metric in SUBSET_METRICS:
            scores = np.full(len(table), nan)
            scores[rows] = [quality(metric, a[metric]) for a in answers]
            metrics = ranking(scores, truth, best, random, self.sizes)
            main = metric == self.score
            values |= metrics if main else {f"{self._other}/{k}": v for k, v in metrics.items()}
            if main and self.points:
                shown = random[np.isfinite(scores[random])][: self.points]
                details["points"] = [[float(truth[r]), round(float(scores[r]), 5)] for r in shown]
        return Measured(values, details)

    def pooled(self, seeds: Mapping[int, Measured]) -> dict[str, float]:
        """tau_a of the mean scores over all seeds, as in the paper."""
        measured = list(seeds.values())
        n = measured[0].details["networks"]
        sizes = list({min(s, n): s for s in reversed(self.sizes)}.values())[::-1]
        complete = [m.values for m in measured if all(isfinite(m.values[f"score@{s}"]) for s in sizes)]
        return {"joint tau_a": joint_tau_a(complete, sizes) if complete else nan}


def _short(metric: str) -> str:
    return metric.partition("/")[2]


@lru_cache(maxsize=32)
def table_of(space: Space, file: str) -> Table:
    """The table of a space, without masked operations; one row per network where encodings coincide."""
    shared = plain_space(space)
    if not file and shared.name not in catalog.TABLES:
        raise TableError(
            f"no table of {shared.name} is bundled (only of {', '.join(catalog.TABLES)}): give a file as table"
        )
    if file and not Path(file).exists():
        raise TableError(f"the table {file} of {shared.name} does not exist: it is not bundled, give your own file")
    table = catalog.table(file or shared.name, shared)
    return table.unique() if table.counts_networks else table
