"""Networks in a cost window by meeting in the middle: all first halves joined with all second halves.

Where costs have no useful common divisor but each half of the automaton can be listed (AttentiveNAS's space: 5.3 M
first halves, 83 k second halves behind each middle state), the second halves are sorted by cost, and those that
complete a given first half are one slice of them. Exact, one trial per sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..space import Archs
from .graph import CostGraph, Floats
from .table import Ints

MOST = 8_000_000  # partial networks that may be listed
CHUNK = 1 << 16  # rows drawn at a time: keeps a draw in the cache


@dataclass(frozen=True)
class Partials:
    """All walks over a run of slots: where each ends, what it costs and weighs, and which options it takes."""

    state: Ints
    cost: Ints
    weight: Floats
    code: Ints  # options in mixed radix, the first slot's most significant


@dataclass(frozen=True)
class Halves:
    """First halves, and second halves sorted by (middle state, cost)."""

    walk: CostGraph
    cut: int
    left: Partials
    right: Partials  # `state` is the middle state they start from
    mass: Floats  # running weight of the second halves, from 0

    @cached_property
    def _starts(self) -> Ints:
        """First second half of each middle state."""
        return np.searchsorted(self.right.state, np.arange(int(self.right.state.max()) + 2))

    def _position(self, limit: int, side: str) -> Ints:
        """For each first half, the second half at which the joint cost passes `limit`."""
        position = np.empty(len(self.left.cost), dtype=np.int64)
        for state, (a, b) in enumerate(zip(self._starts, self._starts[1:], strict=False)):
            mine = self._by_state[state]
            need = limit - self.walk.offset - self.left.cost[mine]
            position[mine] = a + np.searchsorted(
                self.right.cost[a:b], need, side="right" if side == "right" else "left"
            )
        return position

    @cached_property
    def _by_state(self) -> list[Ints]:
        return [np.flatnonzero(self.left.state == s) for s in range(len(self._starts) - 1)]

    def window(self, low: int, high: int) -> Window:
        """The networks that cost low..high, ready to be drawn from."""
        first, last = self._position(low, "left"), self._position(high, "right")
        mass = np.cumsum(self.left.weight * (self.mass[last] - self.mass[first]))
        spaced = np.linspace(0, mass[-1], len(mass), endpoint=False)
        return Window(self, first, mass, np.searchsorted(mass, spaced, side="right"))

    def nearest(self, low: int, high: int) -> tuple[int | None, int | None]:
        """The greatest cost below the window and the least above it at which there is a network."""
        first, last = self._position(low, "left"), self._position(high, "right")
        start, end = self._starts[self.left.state], self._starts[self.left.state + 1]
        below, above = first > start, last < end
        base = self.walk.offset + self.left.cost
        return (
            int((base[below] + self.right.cost[first[below] - 1]).max()) if below.any() else None,
            int((base[above] + self.right.cost[last[above]]).min()) if above.any() else None,
        )

    def archs(self, left: Ints, right: Ints) -> Archs:
        """The networks made of these halves."""
        slots = self.walk.slots
        columns = _decode(self.left.code[left], [s.options for s in slots[: self.cut]])
        columns += _decode(self.right.code[right], [s.options for s in slots[self.cut :]])
        return self.walk.archs(columns)


@dataclass(frozen=True)
class Window:
    """A cost window: for each first half the second halves from `first` on that fit, and running weights."""

    halves: Halves
    first: Ints
    mass: Floats
    guide: Ints  # for each of evenly spaced weights the first half it falls in: a draw starts its search there

    @property
    def weight(self) -> float:
        """Total weight; the number of networks where the prior is uniform."""
        return float(self.mass[-1])

    def sample(self, rng: np.random.Generator, n: int) -> Archs:
        """`n` networks, each with probability proportional to its weight."""
        parts = [self._draw(rng, min(CHUNK, n - done)) for done in range(0, n, CHUNK)]
        return np.concatenate(parts) if parts else np.empty((0, self.halves.walk.width), dtype=np.int8)

    def _draw(self, rng: np.random.Generator, n: int) -> Archs:
        draw = rng.random(n) * self.weight
        left = self.guide[(draw * (len(self.mass) / self.weight)).astype(np.int64)]
        short = np.flatnonzero(self.mass[left] <= draw)
        while len(short):  # a few steps on average: there are as many guides as first halves
            left[short] += 1
            short = short[self.mass[left[short]] <= draw[short]]
        halves = self.halves
        within = draw - np.where(left > 0, self.mass[left - 1], 0.0)
        if halves.walk.uniform:
            right = self.first[left] + within.astype(np.int64)
        else:
            target = halves.mass[self.first[left]] + within / halves.left.weight[left]
            right = np.searchsorted(halves.mass, target, side="right") - 1
        return halves.archs(left, right)


def list_halves(walk: CostGraph, most: int = MOST) -> Halves | None:
    """The halves of a walk, cut where they are most even; nothing if they are too many to list."""
    ahead = _path_counts(walk)
    cut = min(range(1, len(walk.slots)), key=lambda i: max(ahead[i]), default=None)
    if cut is None or max(ahead[cut]) > most:
        return None
    left = _extend(walk, 0, cut, 0)
    middle = int(walk.slots[cut - 1].next.max()) + 1
    runs = [_extend(walk, cut, len(walk.slots), s) for s in range(middle)]
    state = np.repeat(np.arange(middle), [len(r.cost) for r in runs])
    cost = np.concatenate([r.cost for r in runs])
    order = np.lexsort((cost, state))
    weight = np.concatenate([r.weight for r in runs])[order]
    code = np.concatenate([r.code for r in runs])[order]
    right = Partials(state[order], cost[order], weight, code)
    return Halves(walk, cut, left, right, np.concatenate([[0.0], np.cumsum(weight)]))


def _path_counts(walk: CostGraph) -> list[tuple[float, float]]:
    """(first halves, second halves over all middle states) for a cut before each slot."""
    before, counts = np.ones(1), [1.0]
    for slot, weight in zip(walk.slots, walk.weights, strict=True):
        after = np.zeros(int(slot.next.max()) + 1)
        states, options = np.nonzero(weight)
        np.add.at(after, slot.next[states, options], before[states])
        before = after
        counts.append(float(after.sum()))
    behind, suffixes = np.ones(len(before)), [float(len(before))]
    for slot, weight in zip(walk.slots[::-1], walk.weights[::-1], strict=True):
        behind = np.where(weight > 0, behind[slot.next], 0.0).sum(axis=1)
        suffixes.append(float(behind.sum()))
    return list(zip(counts, suffixes[::-1], strict=True))


def _extend(walk: CostGraph, begin: int, end: int, state: int) -> Partials:
    """All walks from `state` over slots begin..end."""
    states, costs, weights, codes = np.array([state]), np.zeros(1, np.int64), np.ones(1), np.zeros(1, np.int64)
    for i in range(begin, end):
        slot = walk.slots[i]
        path, option = np.nonzero(walk.weights[i][states])
        row = states[path]
        costs = costs[path] + walk.costs[i][row, option]
        weights = weights[path] * walk.weights[i][row, option]
        codes = codes[path] * slot.options + option
        states = slot.next[row, option]
    return Partials(states, costs, weights, codes)


def _decode(code: Ints, options: list[int]) -> list[Ints]:
    columns: list[Ints] = []
    for n in reversed(options):
        code, column = np.divmod(code, n)
        columns.append(column)
    return columns[::-1]
