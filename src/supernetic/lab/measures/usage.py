"""Measure `usage`: which operations the best networks of a table consist of. Nothing is trained.

Paper: "Single-path ranking correlations", Fig. 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...errors import InputError
from ...ranking.top_n import TOP_SIZES, best_first, usage
from ...space import Space
from .measure import Measure, Measured, Report
from .ranking import table_of

# Share of networks; share of edges; occurrences divided by networks times operations, as the caption says.
SHARE_METRICS = ("usage", "share", "share5")


@dataclass(frozen=True)
class OperationUsage(Measure):
    """The operations of the top N networks: how many networks contain each, and its share of all edges."""

    truth: str  # a column of the table
    table: str = ""  # a file; by default the bundled table of the space
    sizes: tuple[int, ...] = TOP_SIZES  # of the sets of best networks

    trains: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise InputError(f"sizes must be at least 1, got {list(self.sizes)}")

    def check(self, space: Space) -> list[str]:
        """All choices must have the same options, and the table the column of the truth."""
        names = [f"{what}/{op}@{n}" for what in SHARE_METRICS for op in _options(space) for n in self.sizes]
        table_of(space, self.table)[self.truth]
        return names

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Count operations in the table; `run` does not exist."""
        table = table_of(space, self.table)
        table = table.take(np.flatnonzero(np.isfinite(table[self.truth].values)))
        order = best_first(table[self.truth].values)
        values: dict[str, float] = {}
        for n in self.sizes:
            counts = usage(table.archs[order[:n]], _options(space))
            parts = zip(SHARE_METRICS, (counts.usage, counts.share, counts.share_by_operations), strict=True)
            values |= {f"{what}/{op}@{n}": v for what, shares in parts for op, v in shares.items()}
        return Measured(values, {"networks": len(table), "operations": _options(space)})


def _options(space: Space) -> list[str]:
    options = {c.options for c in space.choices}
    if len(options) > 1:
        raise InputError(f"all choices of {space.name} must have the same options, got {len(options)} kinds")
    return [str(o) for o in space.choices[0].options]
