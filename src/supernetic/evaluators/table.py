"""A benchmark table as an evaluator: `table/COLUMN`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..benchmarks import Table
from ..objective import Metrics
from ..space import Arch


@dataclass(frozen=True)
class TableEvaluator:
    """Looks metrics up in a benchmark table; an architecture that is not in the table gets NaN.

    Args:
        table: The table.
        columns: Which of its columns.
    """

    table: Table
    columns: tuple[str, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns, as `table/COLUMN`."""
        return tuple(f"table/{c}" for c in self.columns)

    @property
    def test(self) -> frozenset[str]:
        """The columns that hold test data."""
        return frozenset(f"table/{c}" for c in self.columns if self.table[c].is_test)

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """The columns of each architecture."""
        rows = self.table.find(np.array(archs, dtype=np.int8))
        columns = [np.where(rows >= 0, self.table[c].values[rows], np.nan).tolist() for c in self.columns]
        return [{m: c[i] for m, c in zip(self.metrics, columns, strict=True)} for i in range(len(archs))]
