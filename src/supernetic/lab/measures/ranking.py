"""Measure `ranking`: how well a supernet orders the best networks of a table, and random ones.

Paper: "Single-path ranking correlations", section 3.
Differences: BN uses the statistics of each batch by default; the paper uses running ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np

from ... import catalog
from ...benchmarks import Table
from ...errors import InputError, TableError, UnknownNameError
from ...jobs.train.score import RECALIBRATION_IMAGES, SUBSET_METRICS, score
from ...metrics import quality
from ...ranking.top_n import RANDOM_NETWORKS, TOP_SIZES
from ...space import Space
from ..ranking_statistics import choose_networks, joint_tau_a, metric_names, ranking
from .measure import Measure, Measured, Report, archs_of, plain_space

BN_MODES = ("recalibrate", "batch", "running")


@dataclass(frozen=True)
class Ranking(Measure):
    """Scores of the top-N and of random networks, correlated with a column of the space's table."""

    truth: str  # a column of the table
    table: str = ""  # a file; by default the bundled table of the space
    score: str = "valid/accuracy"  # the score in figures; metrics of the other score begin with its name
    bn: str = "batch"  # one of BN_MODES
    images: int = RECALIBRATION_IMAGES  # training images that recalibrate BN
    valid: int = 0  # validation images that networks are scored on; 0: all
    sizes: tuple[int, ...] = TOP_SIZES  # of the sets of best networks
    random: int = RANDOM_NETWORKS  # random networks
    points: int = 0  # networks whose scores are kept for a scatter plot, at most

    def __post_init__(self) -> None:
        if self.score not in SUBSET_METRICS:
            raise UnknownNameError("score of a ranking", self.score, SUBSET_METRICS)
        if self.bn not in BN_MODES:
            raise UnknownNameError("BN mode", self.bn, BN_MODES)
        if not self.sizes or min(self.sizes) < 2 or self.random < 2:
            raise InputError(
                f"sizes and random must be at least 2, got sizes {list(self.sizes)} and random {self.random}"
            )
        if min(self.valid, self.points) < 0:
            raise InputError(f"valid and points must be at least 0, got {self.valid} and {self.points}")

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

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Score the networks that were not scored before, and correlate all scores with the truth."""
        table = table_of(space, self.table)
        table = table.take(np.flatnonzero(np.isfinite(table[self.truth].values)))
        truth = table[self.truth].values
        best, random = choose_networks(truth, self.sizes, self.random)
        rows = np.union1d(best, random)
        answers = score(
            run, table.space, archs_of(table.archs[rows]),
            bn=self.bn, images=self.images, valid=self.valid or None, progress=report,
        )  # fmt: skip
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
