"""The automaton of a space under one additive metric and one prior: a graph of slots with costs and weights.

Counting and sampling at a budget (`suffix_counts`, `half_lists`) need nothing else of a space.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

import numpy as np
import numpy.typing as npt

from ..errors import InputError, UnknownNameError
from ..space import Archs, SequentialSpace
from .table import INVALID_STATE, Ints, Metric, Slot, name_of, table_of

Floats = npt.NDArray[np.float64]
Prior = str | Mapping[str, Mapping[str, float]]  # "uniform", "depth-uniform", or {choice: {option: weight}}


@dataclass(frozen=True)
class CostGraph:
    """The automaton as a graph: a path that takes one edge per slot is a network.

    Costs are relative to `offset`, so that the cheapest edge of each slot costs 0. Weights are 0 on edges that may not
    be taken. The layers behind the last slot are folded into its edges.
    """

    slots: tuple[Slot, ...]
    offset: int  # cost of a network that takes the cheapest edge of each slot
    costs: tuple[Ints, ...]  # by slot: states x options
    weights: tuple[Floats, ...]  # likewise
    width: int  # number of genes
    uniform: bool  # whether all encodings weigh the same

    @property
    def unit(self) -> int:
        """The largest number that divides all costs."""
        return gcd(*(int(v) for c in self.costs for v in np.unique(c))) or 1

    def extremes(self) -> tuple[int, int]:
        """Return the least and the greatest cost of the networks that the prior admits."""
        low = high = np.zeros(len(np.unique(self.slots[-1].next)) + 1)
        for slot, cost, weight in zip(self.slots[::-1], self.costs[::-1], self.weights[::-1], strict=True):
            taken = weight > 0
            low = np.where(taken, cost + low[slot.next], np.inf).min(axis=1)
            high = np.where(taken, cost + high[slot.next], -np.inf).max(axis=1)
        if not np.isfinite(low[0]):
            raise InputError("a prior must leave at least one architecture, got weights of 0 on every path")
        return self.offset + int(low[0]), self.offset + int(high[0])

    def archs(self, columns: list[Ints]) -> Archs:
        """Return architectures from the option taken at each slot."""
        out = np.empty((len(columns[0]), self.width), dtype=np.int8)
        for slot, column in zip(self.slots, columns, strict=True):
            digits = np.stack(slot.genes_of(np.arange(slot.options)), axis=1).astype(np.int8)
            for k, gene in enumerate(slot.genes):
                out[:, gene] = digits[:, k][column]
        return out


def cost_graph_of(space: SequentialSpace, metric: Metric = "macs", prior: Prior = "uniform") -> CostGraph:
    """Return the cost graph of a space.

    Args:
        space: The space.
        metric: An additive metric: `macs`, `params` or a `LayerCost`.
        prior: "uniform" over encodings, "depth-uniform" (choice by choice), or weights {choice: {option: weight}}.
    """
    table, name = table_of(space, metric), name_of(metric)
    costs: list[Ints] = []
    offset = table.start[name]
    for i, slot in enumerate(table.slots):
        cost: Ints = slot.costs[name].copy()
        if i == len(table.slots) - 1:
            cost += table.finish[name][slot.next]
        least = int(cost[slot.next != INVALID_STATE].min())
        offset += least
        costs.append(np.where(slot.next == INVALID_STATE, 0, cost - least))
    weights = _weights(space, table.slots, prior)
    return CostGraph(table.slots, offset, tuple(costs), weights, len(space.choices), prior == "uniform")


def _weights(space: SequentialSpace, slots: tuple[Slot, ...], prior: Prior) -> tuple[Floats, ...]:
    valid = [slot.next != INVALID_STATE for slot in slots]
    if prior == "uniform":
        return tuple(v.astype(float) for v in valid)
    if prior == "depth-uniform":
        return tuple(_option_by_option(v, slot.radices) for v, slot in zip(valid, slots, strict=True))
    if isinstance(prior, str):
        raise UnknownNameError("prior", prior, ("uniform", "depth-uniform"))
    factors = _factors(space, prior)
    weights = []
    for v, slot in zip(valid, slots, strict=True):
        digits = slot.genes_of(np.arange(slot.options))
        weight = np.ones(slot.options)
        for gene, digit in zip(slot.genes, digits, strict=True):
            weight = weight * factors[gene][digit]
        weights.append(v * weight)
    return tuple(weights)


def _option_by_option(valid: npt.NDArray[np.bool_], radices: tuple[int, ...]) -> Floats:
    """Return the probability of each column if every gene is drawn uniformly from what the genes before it allow."""
    grid = valid.reshape(len(valid), *radices)
    chance = grid.astype(float)
    for axis in range(1, grid.ndim):
        allowed = grid.any(axis=tuple(range(axis + 1, grid.ndim)), keepdims=True)
        chance = chance / np.maximum(allowed.sum(axis=axis, keepdims=True), 1)
    return chance.reshape(valid.shape)


def _factors(space: SequentialSpace, prior: Mapping[str, Mapping[str, float]]) -> list[Floats]:
    """Return the weight of each option of each choice; 1 if the prior does not name it."""
    names = [c.name for c in space.choices]
    for name in prior:
        if name not in names:
            raise UnknownNameError("choice", name, names)
    factors = []
    for choice in space.choices:
        labels = [str(o) for o in choice.options]
        factor = np.ones(len(labels))
        for option, weight in prior.get(choice.name, {}).items():
            if option not in labels:
                raise UnknownNameError(f"option of {choice.name}", option, labels)
            if not (np.isfinite(weight) and weight >= 0):
                raise InputError(f"weights of a prior must be finite and not negative, got {weight} for {choice.name}")
            factor[labels.index(option)] = weight
        factors.append(factor)
    return factors
