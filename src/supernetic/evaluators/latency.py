"""Latency as a metric: `latency/ms`, summed from a table of measured layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..costs import LayerCost, costs_of
from ..objective import Metrics
from ..space import Arch, Space


@dataclass(frozen=True)
class LatencyEvaluator:
    """Latencies of the finished networks of a space.

    Args:
        space: The space of the architectures.
        table: Measured latencies of the layers; it also states the error of its sums.
    """

    space: Space
    table: LayerCost

    @property
    def metrics(self) -> tuple[str, ...]:
        """`latency/ms`."""
        return (self.table.name,)

    @property
    def test(self) -> frozenset[str]:
        """No metric comes from test data: latencies need no data."""
        return frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """The latency of each architecture."""
        rows = np.array(archs, dtype=np.int8).reshape(len(archs), len(self.space.choices))
        costs = costs_of(self.space, rows, self.table) / self.table.scale
        return [{self.table.name: v} for v in costs.tolist()]
