"""The smallest and the largest network of a space, by MACs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..costs.graph import cost_graph_of
from ..costs.table import costs_of
from ..space import Arch, Archs, SequentialSpace, Space

START_DRAWS = 1000  # random networks, the best of which starts a climb


@lru_cache(maxsize=16)
def extremes(space: Space) -> tuple[Arch, Arch]:
    """Return the smallest and the largest network: exact if the space is an automaton, else by hill climbing.

    Among options of equal cost the smallest network takes the first, the largest the last.
    """
    if isinstance(space, SequentialSpace):
        return _exact(space, -1), _exact(space, 1)
    return _climbed(space, -1), _climbed(space, 1)


def _exact(space: SequentialSpace, sign: int) -> Arch:
    """Return the cheapest (-1) or most expensive (1) network, by dynamic programming from the end of the automaton."""
    graph = cost_graph_of(space)
    ahead = [np.zeros(int(graph.slots[-1].next.max()) + 1)]  # by slot, from the last: best rest
    for slot, cost, weight in zip(graph.slots[::-1], graph.costs[::-1], graph.weights[::-1], strict=True):
        ahead.append(np.where(weight > 0, sign * cost + ahead[-1][slot.next], -np.inf).max(axis=1))
    state, columns = 0, []
    for slot, cost, weight, rest in zip(graph.slots, graph.costs, graph.weights, ahead[-2::-1], strict=True):
        value = np.where(weight[state] > 0, sign * cost[state] + rest[slot.next[state]], -np.inf)
        best = np.flatnonzero(value == value.max())
        column = int(best[0] if sign < 0 else best[-1])
        columns.append(np.array([column]))
        state = int(slot.next[state, column])
    arch: Arch = tuple(graph.archs(columns)[0].tolist())
    return arch


def _climbed(space: Space, sign: int) -> Arch:
    """Return the best of many draws, improved gene by gene for as long as that helps."""
    draws = space.sample(np.random.default_rng(0), START_DRAWS)
    best: Arch = tuple(draws[np.argmax(sign * costs_of(space, draws))].tolist())
    while True:
        near = around(space, best)
        cost = sign * costs_of(space, near)
        if cost.max() == cost[0]:
            return best
        best = tuple(near[np.argmax(cost)].tolist())


def around(space: Space, arch: Arch) -> Archs:
    """Return `arch` and, behind it, the valid networks that differ from it in one gene."""
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
