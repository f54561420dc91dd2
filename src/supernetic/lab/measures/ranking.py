"""Measure `ranking`: how well a supernet orders the truly best networks of a table, and random ones.

Paper: "Single-path ranking correlations" (002), section 3.
Differences: BN statistics are those of each batch unless said otherwise; the paper takes running ones.
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
from ...jobs.train.score import FEWER, IMAGES, score
from ...metrics import quality
from ...ranking.top_n import RANDOM_NETWORKS, SIZES
from ...space import Space
from ..ranking_statistics import chosen, joint_tau_a, names, ranking
from .measure import Measure, Measured, Report, archs_of, plain_space

MODES = ("recalibrate", "batch", "running")


@dataclass(frozen=True)
class Ranking(Measure):
    """Scores of the top-N and of random networks, correlated with a column of the space's table."""

    truth: str  # a column of the table
    table: str = ""  # a file of the user's; else the one that is bundled with the space
    score: str = "valid/accuracy"  # the one in figures; metrics of the other one begin with its name
    bn: str = "batch"
    images: int = IMAGES  # that recalibrate BN
    valid: int = 0  # validation images that networks are scored on; 0: all
    sizes: tuple[int, ...] = SIZES
    random: int = RANDOM_NETWORKS
    points: int = 0  # networks whose scores are kept for a scatter plot, at most

    def __post_init__(self) -> None:
        if self.score not in FEWER:
            raise UnknownNameError("score of a ranking", self.score, FEWER)
        if self.bn not in MODES:
            raise UnknownNameError("BN mode", self.bn, MODES)
        if not self.sizes or min(self.sizes) < 2 or self.random < 2:
            raise InputError(f"sets of networks have two or more, got sizes {list(self.sizes)}, random {self.random}")
        if min(self.valid, self.points) < 0:
            raise InputError(f"valid and points must not be negative, got {self.valid} and {self.points}")

    @property
    def shown(self) -> tuple[str, ...]:
        """Both ends, and the paper's tau_a."""
        return ("joint tau_a", "tau_a", *(f"tau@{n}" for n in self.sizes), "tau@random", f"{self._other}/tau@random")

    @property
    def _other(self) -> str:
        return next(_short(s) for s in FEWER if s != self.score)

    def check(self, space: Space) -> list[str]:
        """The table, its column and enough networks must be there."""
        table = table_of(space, self.table)
        known = int(np.isfinite(table[self.truth].values).sum())
        if known < 2:
            raise InputError(f"{space} leaves {known} networks with {self.truth}, a ranking needs two")
        own = names(self.sizes)
        return [*own, *(f"{self._other}/{n}" for n in own), "joint tau_a"]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Score with the run's supernet what it has not scored before."""
        table = table_of(space, self.table)
        table = table.take(np.flatnonzero(np.isfinite(table[self.truth].values)))
        truth = table[self.truth].values
        best, random = chosen(truth, self.sizes, self.random)
        rows = np.union1d(best, random)
        answers = score(
            run, table.space, archs_of(table.archs[rows]),
            bn=self.bn, images=self.images, valid=self.valid or None, progress=report,
        )  # fmt: skip
        values: dict[str, float] = {}
        details: dict[str, Any] = {"networks": len(table), "scored": len(rows)}
        for metric in FEWER:
            scores = np.full(len(table), nan)
            scores[rows] = [quality(metric, a[metric]) for a in answers]
            found = ranking(scores, truth, best, random, self.sizes)
            main = metric == self.score
            values |= found if main else {f"{self._other}/{k}": v for k, v in found.items()}
            if main and self.points:
                shown = random[np.isfinite(scores[random])][: self.points]
                details["points"] = [[float(truth[r]), round(float(scores[r]), 5)] for r in shown]
        return Measured(values, details)

    def pooled(self, seeds: Mapping[int, Measured]) -> dict[str, float]:
        """tau_a as the paper has it, over the mean scores of all seeds."""
        measured = list(seeds.values())
        n = measured[0].details["networks"]
        sizes = list({min(s, n): s for s in reversed(self.sizes)}.values())[::-1]
        known = [m.values for m in measured if all(isfinite(m.values[f"score@{s}"]) for s in sizes)]
        return {"joint tau_a": joint_tau_a(known, sizes) if known else nan}


def _short(metric: str) -> str:
    return metric.partition("/")[2]


@lru_cache(maxsize=32)
def table_of(space: Space, file: str) -> Table:
    """The table of a (masked) space; one row per network where the space says which encodings coincide."""
    shared = plain_space(space)
    if not file and shared.name not in catalog.TABLES:
        raise TableError(
            f"no table of {shared.name} is bundled (there are {', '.join(catalog.TABLES)}): name a file as table"
        )
    if file and not Path(file).exists():
        raise TableError(f"the table {file} of {shared.name} does not exist: it is not bundled, give your own file")
    table = catalog.table(file or shared.name, shared)
    return table.unique() if table.counts_networks else table
