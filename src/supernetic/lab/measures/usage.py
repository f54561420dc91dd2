"""Measure `usage`: which operations the best networks of a table are made of. Nothing is trained.

Paper: "Single-path ranking correlations" (002), Fig. 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...errors import InputError
from ...ranking.top_n import SIZES, best_first, usage
from ...space import Space
from .measure import Measure, Measured, Report
from .ranking import table_of

WHAT = ("usage", "share", "share5")  # of networks; of edges; occurrences by networks times operations, as the caption


@dataclass(frozen=True)
class OperationUsage(Measure):
    """Operations of the top-N: how many networks contain each, and its share of all edges."""

    truth: str
    table: str = ""
    sizes: tuple[int, ...] = SIZES

    trains: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise InputError(f"sets of networks have one or more, got sizes {list(self.sizes)}")

    def check(self, space: Space) -> list[str]:
        """All choices must have the same options."""
        names = [f"{what}/{op}@{n}" for what in WHAT for op in _options(space) for n in self.sizes]
        table_of(space, self.table)[self.truth]
        return names

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """From the table alone; `run` does not exist."""
        table = table_of(space, self.table)
        table = table.take(np.flatnonzero(np.isfinite(table[self.truth].values)))
        order = best_first(table[self.truth].values)
        values: dict[str, float] = {}
        for n in self.sizes:
            found = usage(table.archs[order[:n]], _options(space))
            parts = zip(WHAT, (found.usage, found.share, found.share_by_operations), strict=True)
            values |= {f"{what}/{op}@{n}": v for what, shares in parts for op, v in shares.items()}
        return Measured(values, {"networks": len(table), "operations": _options(space)})


def _options(space: Space) -> list[str]:
    options = {c.options for c in space.choices}
    if len(options) > 1:
        raise InputError(f"{space.name}: operations can be counted where all choices have the same options")
    return [str(o) for o in space.choices[0].options]
