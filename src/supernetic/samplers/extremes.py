"""The smallest and the largest network of a space, by MACs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..costs.graph import cost_graph_of
from ..costs.table import costs_of
from ..space import Arch, Archs, SequentialSpace, Space

DRAWS = 1000


@lru_cache(maxsize=16)
def extremes(space: Space) -> tuple[Arch, Arch]:
    """(smallest, largest): exact where the space is an automaton, else the end of a climb from many draws.

    Among options of equal cost the smallest network takes the first, the largest the last.
    """
    if isinstance(space, SequentialSpace):
        return _walked(space, -1), _walked(space, 1)
    return _climbed(space, -1), _climbed(space, 1)


def _walked(space: SequentialSpace, sign: int) -> Arch:
    """The cheapest (-1) or dearest (1) walk through the automaton, by dynamic programming from its end."""
    walk = cost_graph_of(space)
    ahead = [np.zeros(int(walk.slots[-1].next.max()) + 1)]  # by slot, from the last: best that can still follow a state
    for slot, cost, weight in zip(walk.slots[::-1], walk.costs[::-1], walk.weights[::-1], strict=True):
        ahead.append(np.where(weight > 0, sign * cost + ahead[-1][slot.next], -np.inf).max(axis=1))
    state, columns = 0, []
    for slot, cost, weight, rest in zip(walk.slots, walk.costs, walk.weights, ahead[-2::-1], strict=True):
        value = np.where(weight[state] > 0, sign * cost[state] + rest[slot.next[state]], -np.inf)
        best = np.flatnonzero(value == value.max())
        column = int(best[0] if sign < 0 else best[-1])
        columns.append(np.array([column]))
        state = int(slot.next[state, column])
    arch: Arch = tuple(walk.archs(columns)[0].tolist())
    return arch


def _climbed(space: Space, sign: int) -> Arch:
    """The best of many draws, then gene by gene for as long as that helps."""
    draws = space.sample(np.random.default_rng(0), DRAWS)
    best: Arch = tuple(draws[np.argmax(sign * costs_of(space, draws))].tolist())
    while True:
        near = around(space, best)
        cost = sign * costs_of(space, near)
        if cost.max() == cost[0]:
            return best
        best = tuple(near[np.argmax(cost)].tolist())


def around(space: Space, arch: Arch) -> Archs:
    """`arch`, then the valid networks that differ from it in one gene."""
    rows = [arch]
    for i, c in enumerate(space.choices):
        for option in range(len(c.options) if c.parent < 0 else c.allowed[arch[c.parent]]):
            changed = [*arch[:i], option, *arch[i + 1 :]]
            for j, child in enumerate(space.choices):  # genes that the new option rules out are 0
                if child.parent == i:
                    changed[j] = min(changed[j], child.allowed[option] - 1)
            if tuple(changed) != arch and not space._invalid_reason(tuple(changed)):
                rows.append(tuple(changed))
    return np.array(rows, dtype=np.int8)
