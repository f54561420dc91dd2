"""Measure `columns`: do the columns of a table order networks alike? Nothing is trained.

Paper: "Single-path ranking correlations", Fig. 10: accuracies on one data set against those on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...errors import InputError
from ...ranking.correlation import count_pairs
from ...space import Space
from .measure import Measure, Measured, Report
from .ranking import table_of


@dataclass(frozen=True)
class Columns(Measure):
    """Kendall's tau between any two columns, over all networks that have both."""

    columns: tuple[str, ...]  # of the table
    table: str = ""  # a file; by default the bundled table of the space
    points: int = 500  # random networks in each scatter plot

    trains: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if len(set(self.columns)) < 2 or len(set(self.columns)) < len(self.columns):
            raise InputError(f"columns must be two or more different ones, got {list(self.columns)}")
        if self.points < 0:
            raise InputError(f"points must be at least 0, got {self.points}")

    @property
    def shown(self) -> tuple[str, ...]:
        """All metrics."""
        return tuple(f"tau of {a} and {b}" for a, b in combinations(self.columns, 2))

    def check(self, space: Space) -> list[str]:
        """The table must have the columns."""
        for column in self.columns:
            table_of(space, self.table)[column]
        return [*self.shown]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Compare the columns; `run` does not exist."""
        table = table_of(space, self.table)
        every = np.array([table[c].values for c in self.columns])
        taus = []
        for i, j in combinations(range(len(every)), 2):
            known = np.isfinite(every[[i, j]]).all(axis=0)
            taus.append(count_pairs(every[i, known], every[j, known]).tau())
        rows = np.flatnonzero(np.isfinite(every).all(axis=0))
        drawn = np.sort(np.random.default_rng(0).permutation(rows)[: self.points])
        points = every[:, drawn].round(3).tolist()
        return Measured(dict(zip(self.shown, taus, strict=True)), {"networks": len(table), "columns": points})
