"""Costs of many architectures at once, from the automaton's table.

Every reachable (slot, state, option) of a sequential space is costed once; the cost of an architecture is then a few
look-ups and additions. The same table counts and samples architectures at a budget (`costs.budget`).

A metric is the name of a cost that follows from the blueprint, or a `LayerCost`: one more cost that adds up over
layers, such as a measured latency.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..blueprint import Layer
from ..space import Arch, Archs, SequentialSpace, Space, State
from .macs import add_up, chain_peak, cost

Ints = npt.NDArray[np.int64]
INVALID_STATE = -1  # behind an option that may not be taken


class LayerCost(Hashable, Protocol):
    """A cost that adds up over layers, in whole units so that sums can be counted; hashed by identity."""

    @property
    def name(self) -> str:
        """Full name of the metric, such as `latency/ms`."""

    @property
    def scale(self) -> int:
        """Units in one of the metric's own: 1,000,000 nanoseconds in a millisecond."""

    @property
    def base(self) -> int:
        """Cost of every network apart from its layers, in units."""

    def of(self, layer: Layer) -> int:
        """Return the cost of a layer, in units."""


Metric = str | LayerCost
Counted = Callable[[Sequence[Layer]], Mapping[str, int]]


@dataclass(frozen=True)
class Slot:
    """One step of the automaton. Rows are states before it, columns its options (genes in mixed radix)."""

    genes: tuple[int, ...]
    radices: tuple[int, ...]
    next: Ints  # state behind the step, or `INVALID_STATE`
    costs: Mapping[str, Ints]  # by metric

    @property
    def options(self) -> int:
        """Number of columns."""
        return prod(self.radices)

    def option(self, archs: Archs) -> Ints:
        """Return the column that each architecture takes."""
        column = np.zeros(len(archs), dtype=np.int64)
        for g, r in zip(self.genes, self.radices, strict=True):
            column = column * r + archs[:, g]
        return column

    def genes_of(self, option: Ints) -> list[Ints]:
        """Return the genes of columns, in the order of `self.genes`."""
        values: list[Ints] = []
        for r in reversed(self.radices):
            option, digit = np.divmod(option, r)
            values.append(digit)
        return values[::-1]


@dataclass(frozen=True)
class CostTable:
    """The automaton of a space, tabulated."""

    slots: tuple[Slot, ...]
    start: Mapping[str, int]  # costs of the layers before the first slot
    finish: Mapping[str, Ints]  # costs of the layers behind the last slot, by final state

    def costs(self, archs: Archs, metric: str = "macs") -> Ints:
        """Return the metric of each row of `archs`."""
        join = np.maximum if metric == "peak" else np.add
        total = np.full(len(archs), self.start[metric], dtype=np.int64)
        state = np.zeros(len(archs), dtype=np.int64)
        for slot in self.slots:
            flat = state * slot.options + slot.option(archs)
            total = join(total, slot.costs[metric].ravel()[flat])
            state = slot.next.ravel()[flat]
        return join(total, self.finish[metric][state])


def tabulate(space: SequentialSpace, layer_cost: LayerCost | None = None) -> CostTable:
    """Tabulate a space, breadth first over the reachable states.

    Args:
        space: The space.
        layer_cost: The metric to tabulate; None for all that follow from the blueprint.
    """
    cost_of: Counted = (
        _cost_of if layer_cost is None else lambda layers: {layer_cost.name: sum(map(layer_cost.of, layers))}
    )
    layers, first = space.start()
    start = dict(cost_of(layers))
    if layer_cost is not None:
        start[layer_cost.name] += layer_cost.base
    states: dict[State, int] = {first: 0}
    slots = []
    for i, genes in enumerate(space.slots):
        radices = tuple(int(space.radices[g]) for g in genes)
        combos: list[Arch] = list(product(*(range(r) for r in radices)))
        shape = (len(states), len(combos))
        table = {m: np.zeros(shape, dtype=np.int64) for m in start}
        following = np.full(shape, INVALID_STATE, dtype=np.int64)
        after: dict[State, int] = {}
        for state, row in states.items():
            for column, combo in enumerate(combos):
                taken = space.step(i, state, combo)
                if taken is None:
                    continue
                following[row, column] = after.setdefault(taken[1], len(after))
                for metric, value in cost_of(taken[0]).items():
                    table[metric][row, column] = value
        slots.append(Slot(genes, radices, following, table))
        states = after
    ends = [cost_of(space.finish(state)) for state in states]
    finish = {m: np.array([e[m] for e in ends], dtype=np.int64) for m in start}
    return CostTable(tuple(slots), start, finish)


def _cost_of(layers: Sequence[Layer]) -> Mapping[str, int]:
    macs, params = add_up(layers)
    return {"macs": macs, "params": params, "peak": chain_peak(layers)}


def name_of(metric: Metric) -> str:
    """Return the name of a metric."""
    return metric if isinstance(metric, str) else metric.name


def scale_of(metric: Metric) -> int:
    """Return how many units one of the metric's own has: 1 for costs that follow from the blueprint."""
    return 1 if isinstance(metric, str) else metric.scale


def table_of(space: SequentialSpace, metric: Metric = "macs") -> CostTable:
    """Return the table of a space that holds a metric; it is built once."""
    return _tabulated(space, None if isinstance(metric, str) else metric)


@lru_cache(maxsize=16)
def _tabulated(space: SequentialSpace, layer_cost: LayerCost | None) -> CostTable:
    return tabulate(space, layer_cost)


def costs_of(space: Space, archs: Archs, metric: Metric = "macs") -> Ints:
    """Return the metric of each row of `archs`, by table if the space is an automaton, else blueprint by blueprint.

    Args:
        space: The space.
        archs: One architecture per row.
        metric: `macs`, `params`, `peak` or a `LayerCost`.
    """
    archs = np.atleast_2d(np.asarray(archs, dtype=np.int8))
    if isinstance(space, SequentialSpace) and (metric != "peak" or space.is_chain):
        return table_of(space, metric).costs(archs, name_of(metric))
    return np.array([_blueprint_cost(space, tuple(map(int, a)), metric) for a in archs], dtype=np.int64)


@lru_cache(maxsize=500_000)
def _blueprint_cost(space: Space, arch: Arch, metric: Metric) -> int:
    blueprint = space.blueprint(arch)
    if isinstance(metric, str):
        return int(getattr(cost(blueprint), metric))
    return metric.base + sum(map(metric.of, blueprint))
