"""Costs as metrics: `cost/macs`, `cost/params`, `cost/peak`. They are exact and cheap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..costs import METRICS, costs_of
from ..objective import Metrics
from ..space import Arch, Space

COSTS = tuple(f"cost/{m}" for m in METRICS)


@dataclass(frozen=True)
class CostEvaluator:
    """The costs of the finished networks of a space.

    Args:
        space: The space of the architectures.
        metrics: Which costs, among `COSTS`.
    """

    space: Space
    metrics: tuple[str, ...] = ("cost/macs", "cost/params")

    @property
    def test(self) -> frozenset[str]:
        """No metric comes from test data: costs need no data."""
        return frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """The costs of each architecture."""
        rows = np.array(archs, dtype=np.int8).reshape(len(archs), len(self.space.choices))
        columns = [costs_of(self.space, rows, m.removeprefix("cost/")).tolist() for m in self.metrics]
        return [{m: float(c[i]) for m, c in zip(self.metrics, columns, strict=True)} for i in range(len(archs))]
