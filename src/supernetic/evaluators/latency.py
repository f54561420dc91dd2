"""Latency as a metric: `latency/ms`, added up from a table of measured layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..costs import LayerCost, costs_of
from ..objective import Metrics
from ..space import Arch, Space


@dataclass(frozen=True)
class LatencyEvaluator:
    """Latencies of the finished networks of a space; the table says how far they can be trusted."""

    space: Space
    table: LayerCost

    @property
    def metrics(self) -> tuple[str, ...]:
        """`latency/ms`."""
        return (self.table.name,)

    @property
    def test(self) -> frozenset[str]:
        """None: latencies know no data."""
        return frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """Look each architecture up."""
        rows = np.array(archs, dtype=np.int8).reshape(len(archs), len(self.space.choices))
        costs = costs_of(self.space, rows, self.table) / self.table.scale
        return [{self.table.name: v} for v in costs.tolist()]
