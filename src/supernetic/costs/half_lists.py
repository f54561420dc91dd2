"""Networks in a cost window by meeting in the middle: all first halves joined with all second halves.

Where costs have no useful common divisor but each half of the automaton can be listed (AttentiveNAS's space: 5.3 M
first halves, 83 k second halves behind each middle state), the second halves are sorted by cost, and those that
complete a given first half are one slice of them. Exact, one trial per sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ..space import Archs
from .graph import CostGraph, Floats
from .table import Ints

MAX_PARTIAL_NETWORKS = 8_000_000  # that may be listed
ROWS_PER_DRAW = 1 << 16  # keeps a draw in the cache


@dataclass(frozen=True)
class Partials:
    """All paths over consecutive slots: where each ends, what it costs and weighs, and which options it takes."""

    state: Ints
    cost: Ints
    weight: Floats
    code: Ints  # options in mixed radix, the first slot's most significant


@dataclass(frozen=True)
class Halves:
    """First halves of all networks, and second halves sorted by (middle state, cost)."""

    graph: CostGraph
    cut: int  # number of slots in a first half
    left: Partials
    right: Partials  # `state` is the middle state they start from
    mass: Floats  # cumulative weight of the second halves, from 0

    @cached_property
    def _starts(self) -> Ints:
        """Position of the first second half of each middle state."""
        return np.searchsorted(self.right.state, np.arange(int(self.right.state.max()) + 2))

    def _position(self, limit: int, side: Literal["left", "right"]) -> Ints:
        """Return for each first half the second half at which the joint cost reaches (left) or passes `limit`."""
        position = np.empty(len(self.left.cost), dtype=np.int64)
        for state, (a, b) in enumerate(zip(self._starts, self._starts[1:], strict=False)):
            rows = self._by_state[state]
            rest = limit - self.graph.offset - self.left.cost[rows]
            position[rows] = a + np.searchsorted(self.right.cost[a:b], rest, side=side)
        return position

    @cached_property
    def _by_state(self) -> list[Ints]:
        """The first halves that end in each middle state."""
        return [np.flatnonzero(self.left.state == s) for s in range(len(self._starts) - 1)]

    def window(self, low: int, high: int) -> Window:
        """Return the networks that cost low..high, ready to be drawn from."""
        first, last = self._position(low, "left"), self._position(high, "right")
        mass = np.cumsum(self.left.weight * (self.mass[last] - self.mass[first]))
        spaced = np.linspace(0, mass[-1], len(mass), endpoint=False)
        return Window(self, first, mass, np.searchsorted(mass, spaced, side="right"))

    def nearest(self, low: int, high: int) -> tuple[int | None, int | None]:
        """Return the greatest cost of a network below the window and the least above it; None if there is none."""
        first, last = self._position(low, "left"), self._position(high, "right")
        start, end = self._starts[self.left.state], self._starts[self.left.state + 1]
        below, above = first > start, last < end
        base = self.graph.offset + self.left.cost
        return (
            int((base[below] + self.right.cost[first[below] - 1]).max()) if below.any() else None,
            int((base[above] + self.right.cost[last[above]]).min()) if above.any() else None,
        )

    def archs(self, left: Ints, right: Ints) -> Archs:
        """Return the networks made of these halves."""
        slots = self.graph.slots
        columns = _decode(self.left.code[left], [s.options for s in slots[: self.cut]])
        columns += _decode(self.right.code[right], [s.options for s in slots[self.cut :]])
        return self.graph.archs(columns)


@dataclass(frozen=True)
class Window:
    """A cost window: for each first half, the second halves that complete it."""

    halves: Halves
    first: Ints  # by first half: the first second half that fits
    mass: Floats  # cumulative weight of the networks, by first half
    guide: Ints  # for each of evenly spaced weights the first half it falls in: a draw starts its search there

    @property
    def weight(self) -> float:
        """Total weight; the number of networks if the prior is uniform."""
        return float(self.mass[-1])

    def sample(self, rng: np.random.Generator, n: int) -> Archs:
        """Draw `n` networks, each with probability proportional to its weight."""
        parts = [self._draw(rng, min(ROWS_PER_DRAW, n - done)) for done in range(0, n, ROWS_PER_DRAW)]
        return np.concatenate(parts) if parts else np.empty((0, self.halves.graph.width), dtype=np.int8)

    def _draw(self, rng: np.random.Generator, n: int) -> Archs:
        draw = rng.random(n) * self.weight
        left = self.guide[(draw * (len(self.mass) / self.weight)).astype(np.int64)]
        short = np.flatnonzero(self.mass[left] <= draw)
        while len(short):  # a few steps on average: there are as many guides as first halves
            left[short] += 1
            short = short[self.mass[left[short]] <= draw[short]]
        halves = self.halves
        within = draw - np.where(left > 0, self.mass[left - 1], 0.0)
        if halves.graph.uniform:
            right = self.first[left] + within.astype(np.int64)
        else:
            target = halves.mass[self.first[left]] + within / halves.left.weight[left]
            right = np.searchsorted(halves.mass, target, side="right") - 1
        return halves.archs(left, right)


def list_halves(graph: CostGraph, most: int = MAX_PARTIAL_NETWORKS) -> Halves | None:
    """Return the halves of a graph, cut where the longer of the two lists is shortest.

    Args:
        graph: The cost graph of a space.
        most: How long a list may be.

    Returns:
        The halves, or None if there are too many to list.
    """
    ahead = _path_counts(graph)
    cut = min(range(1, len(graph.slots)), key=lambda i: max(ahead[i]), default=None)
    if cut is None or max(ahead[cut]) > most:
        return None
    left = _extend(graph, 0, cut, 0)
    middle = int(graph.slots[cut - 1].next.max()) + 1
    runs = [_extend(graph, cut, len(graph.slots), s) for s in range(middle)]
    state = np.repeat(np.arange(middle), [len(r.cost) for r in runs])
    cost = np.concatenate([r.cost for r in runs])
    order = np.lexsort((cost, state))
    weight = np.concatenate([r.weight for r in runs])[order]
    code = np.concatenate([r.code for r in runs])[order]
    right = Partials(state[order], cost[order], weight, code)
    return Halves(graph, cut, left, right, np.concatenate([[0.0], np.cumsum(weight)]))


def _path_counts(graph: CostGraph) -> list[tuple[float, float]]:
    """Return the numbers of first halves and of second halves (over all middle states) for a cut before each slot."""
    before, counts = np.ones(1), [1.0]
    for slot, weight in zip(graph.slots, graph.weights, strict=True):
        after = np.zeros(int(slot.next.max()) + 1)
        states, options = np.nonzero(weight)
        np.add.at(after, slot.next[states, options], before[states])
        before = after
        counts.append(float(after.sum()))
    behind, suffixes = np.ones(len(before)), [float(len(before))]
    for slot, weight in zip(graph.slots[::-1], graph.weights[::-1], strict=True):
        behind = np.where(weight > 0, behind[slot.next], 0.0).sum(axis=1)
        suffixes.append(float(behind.sum()))
    return list(zip(counts, suffixes[::-1], strict=True))


def _extend(graph: CostGraph, begin: int, end: int, state: int) -> Partials:
    """Return all paths from `state` over slots begin..end."""
    states, costs, weights, codes = np.array([state]), np.zeros(1, np.int64), np.ones(1), np.zeros(1, np.int64)
    for i in range(begin, end):
        slot = graph.slots[i]
        path, option = np.nonzero(graph.weights[i][states])
        row = states[path]
        costs = costs[path] + graph.costs[i][row, option]
        weights = weights[path] * graph.weights[i][row, option]
        codes = codes[path] * slot.options + option
        states = slot.next[row, option]
    return Partials(states, costs, weights, codes)


def _decode(code: Ints, options: list[int]) -> list[Ints]:
    columns: list[Ints] = []
    for n in reversed(options):
        code, column = np.divmod(code, n)
        columns.append(column)
    return columns[::-1]
