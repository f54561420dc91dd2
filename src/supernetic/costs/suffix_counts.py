"""How many networks there are at each cost, and drawing one of them: dynamic programming over the automaton.

`suffixes[i][state, c]` is the weight of all ways to finish from `state` before slot i at a further cost of c units.
To sample, the total cost is drawn first and every step then conditions on what must remain, so no draw is wasted and no
counts are subtracted from one another. In units of the costs' common divisor this is exact; in coarser units the same
code proposes and `budget` rejects.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from ..space import Archs
from .graph import CostGraph, Floats
from .table import Ints

ROWS_PER_DRAW = 1 << 15  # bounds the memory of a draw


@dataclass(frozen=True)
class SuffixCounts:
    """Weights of all suffixes at each cost; costs are in `unit`s, each edge rounded to the nearest."""

    graph: CostGraph
    unit: int
    units: tuple[Ints, ...]  # by slot: cost of each edge in units
    suffixes: tuple[Floats, ...]  # by slot: states x units
    slack: tuple[int, int]  # true cost minus counted cost lies in this interval

    @property
    def exact(self) -> bool:
        """Whether counted costs are the true ones."""
        return self.slack == (0, 0)

    def window(self, low: int, high: int) -> slice:
        """Return the total costs, in units, whose true cost may lie within low..high."""
        first = ceil((low - self.graph.offset - self.slack[1]) / self.unit)
        last = (high - self.graph.offset - self.slack[0]) // self.unit
        return slice(max(0, first), max(0, last + 1))

    def weight(self, low: int, high: int) -> float:
        """Return the total weight proposed for a window: the number of its networks if exact and uniform."""
        return float(self.suffixes[0][0, self.window(low, high)].sum())

    def nearest(self, low: int, high: int) -> tuple[int | None, int | None]:
        """Return the greatest cost of a network below the window and the least above it; None if there is none.

        Only exact counts can tell.
        """
        window = self.window(low, high)
        present = self.suffixes[0][0] > 0
        below, above = np.flatnonzero(present[: window.start]), np.flatnonzero(present[window.stop :])
        return (
            self.graph.offset + int(below[-1]) * self.unit if len(below) else None,
            self.graph.offset + (window.stop + int(above[0])) * self.unit if len(above) else None,
        )

    def sample(self, rng: np.random.Generator, n: int, low: int, high: int) -> Archs:
        """Draw `n` networks, each with probability proportional to its weight among all proposed for low..high."""
        parts = [self._draw(rng, min(ROWS_PER_DRAW, n - done), low, high) for done in range(0, n, ROWS_PER_DRAW)]
        return np.concatenate(parts) if parts else np.empty((0, self.graph.width), dtype=np.int8)

    def _draw(self, rng: np.random.Generator, n: int, low: int, high: int) -> Archs:
        window = self.window(low, high)
        mass = np.cumsum(self.suffixes[0][0, window])
        left = window.start + np.searchsorted(mass, rng.random(n) * mass[-1], side="right")
        state = np.zeros(n, dtype=np.int64)
        columns = []
        for (jump, padded), slot, units, weight in zip(
            self._jumps, self.graph.slots, self.units, self.graph.weights, strict=True
        ):
            chance = padded[jump[state] + left[:, None]] * weight[state]
            mass = np.cumsum(chance, axis=1)
            column = (mass <= rng.random(n)[:, None] * mass[:, -1:]).sum(axis=1)
            columns.append(column)
            left = left - units[state, column]
            state = slot.next[state, column]
        return self.graph.archs(columns)

    @cached_property
    def _jumps(self) -> list[tuple[Ints, Floats]]:
        """For each slot, where the row of an edge begins in the table behind the slot, and that table.

        The table is flat and padded with zeros, so that `padded[jump[state, option] + left]` is the weight of all ways
        to go on, 0 if there are none.
        """
        jumps = []
        for i, (slot, units) in enumerate(zip(self.graph.slots, self.units, strict=True)):
            after = self.suffixes[i + 1] if i + 1 < len(self.suffixes) else np.ones((int(slot.next.max()) + 1, 1))
            before = int(units.max())
            behind = max(0, self.suffixes[i].shape[1] - after.shape[1])
            padded = np.pad(after, ((0, 0), (before, behind)))
            jumps.append((np.maximum(slot.next, 0) * padded.shape[1] + before - units, padded.ravel()))
        return jumps


def count_suffixes(graph: CostGraph, unit: int, cap: int | None = None) -> SuffixCounts:
    """Count the suffixes of a graph at each cost.

    Args:
        graph: The cost graph of a space.
        unit: Costs are rounded to multiples of it; exact if it divides all costs.
        cap: The greatest cost to count; None for all.
    """
    units = tuple((c + unit // 2) // unit for c in graph.costs)
    errors = [(c - u * unit)[w > 0] for c, u, w in zip(graph.costs, units, graph.weights, strict=True)]
    slack = sum(int(e.min()) for e in errors), sum(int(e.max()) for e in errors)
    limit = None if cap is None else (cap - graph.offset - slack[0]) // unit
    return SuffixCounts(graph, unit, units, tuple(_suffixes(graph, units, limit, np.float64)), slack)


def count_exactly(counts: SuffixCounts, low: int, high: int) -> int:
    """Return the number of networks proposed for low..high under a uniform prior, as an exact integer of any size.

    Floats are good to about 13 digits and a second count modulo 2^64 wraps around; together they give the integer.
    """
    wrapped = _suffixes(counts.graph, counts.units, counts.suffixes[0].shape[1] - 1, np.uint64)[0]
    rest = int(wrapped[0, counts.window(low, high)].sum(dtype=np.uint64))
    return rest + (round((counts.weight(low, high) - rest) / 2**64) << 64)


def _suffixes(graph: CostGraph, units: tuple[Ints, ...], limit: int | None, dtype: type[np.number[Any]]) -> list[Any]:
    """Return the weights of all suffixes by slot: states x units up to the limit, as numbers of type `dtype`."""
    after: Any = np.ones((int(graph.slots[-1].next.max()) + 1, 1), dtype=dtype)
    tables: list[Any] = []
    for slot, unit, weight in zip(graph.slots[::-1], units[::-1], graph.weights[::-1], strict=True):
        longest = after.shape[1] + int(unit[weight > 0].max(initial=0))
        length = longest if limit is None else min(longest, limit + 1)
        table: Any = np.zeros((len(unit), max(length, 1)), dtype=dtype)
        for state, option in zip(*np.nonzero(weight), strict=True):
            shift = unit[state, option]
            source = after[slot.next[state, option], : max(0, length - shift)]
            table[state, shift : shift + len(source)] += weight[state, option].astype(dtype) * source
        tables.append(table)
        after = table
    return tables[::-1]
