"""Architectures at a budget: exactly uniform over a cost window, with the number of trials stated.

Paper: replaces the rejection of AttentiveNAS (arXiv 2011.09011, appendix C: about 12 trials with its proposal, 50,878
without). `method="exact"` takes the first of these that the space allows:

    dynamic programming   costs with a useful common divisor: one trial per sample
    halves                both halves of the automaton can be listed: one trial per sample
    bins                  dynamic programming in coarser units, then rejection: exactly uniform, trials near 1
    rejection             spaces that are not automata (NAS-Bench-101)

Constraints on further metrics are met by rejection on top. An empty window is an error that names the nearest costs.
With a `LayerCost` (measured latencies) there is one more metric, treated like MACs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil, floor, inf, isfinite

import numpy as np
import numpy.typing as npt

from ..errors import BudgetError, InputError, UnknownNameError
from ..objective import Constraint, combine, resolve, show_quantity
from ..space import Archs, SequentialSpace, Space
from .graph import CostGraph, Prior, cost_graph_of
from .half_lists import list_halves
from .macs import METRICS
from .proposal import propose_from
from .suffix_counts import SuffixCounts, count_exactly, count_suffixes
from .table import LayerCost, Metric, costs_of, scale_of

METHODS = ("exact", "proposal", "naive")
ADDITIVE_METRICS = ("macs", "params", "latency/ms")
MAX_TABLE_ENTRIES = 20_000_000  # of a table for dynamic programming: 160 MB
MAX_ADDITIONS = 1_000_000_000  # to build such a table: a second or two
MAX_TRIALS_PER_SAMPLE = 100_000
PROBE_DRAWS = 2000  # that tell which of several constraints is the tightest

Propose = Callable[[np.random.Generator, int], Archs]


@dataclass(frozen=True)
class BudgetSampler:
    """Draws architectures that satisfy all constraints; `budget_sampler` makes one.

    Args:
        space: Where architectures come from.
        constraints: What every draw satisfies.
        how: The method in words, for reports.
        propose: (rng, n) -> `n` architectures.
        rejects: Constraints that proposals may violate, so that they are checked.
        count: Bounds on the number of architectures in the window; equal if it is known exactly, None if unknown.
        cap: Trials per sample after which the sampler gives up.
        layer_cost: The measured metric that constraints may name.
    """

    space: Space
    constraints: tuple[Constraint, ...]
    how: str
    propose: Propose
    rejects: tuple[Constraint, ...]
    count: tuple[int, int] | None = None
    cap: int = MAX_TRIALS_PER_SAMPLE
    layer_cost: LayerCost | None = None

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Archs, int]:
        """Draw `n` architectures; return them and the number of trials that they took."""
        if not self.rejects:
            return self.propose(rng, n), n
        kept: list[Archs] = []
        accepted = trials = 0
        while accepted < n:
            batch = self.propose(rng, _batch_size(n - accepted, accepted, trials))
            rows = np.flatnonzero(self._is_inside(batch))[: n - accepted]
            # Trials end with the draw that completed the order, as if the batch had been drawn one by one.
            trials += len(batch) if accepted + len(rows) < n else int(rows[-1]) + 1
            accepted += len(rows)
            kept.append(batch[rows])
            if trials > self.cap * max(1, n) or (not accepted and trials > 10 * self.cap):
                limits = " and ".join(str(c) for c in self.constraints)
                raise BudgetError(
                    f"{self.space.name}: {accepted} of {n} architectures satisfied {limits} in {trials:,} trials "
                    f"({self.how}); {self._seen(batch)}"
                )
        return np.concatenate(kept) if kept else np.empty((0, len(self.space.choices)), dtype=np.int8), trials

    def _is_inside(self, archs: Archs) -> npt.NDArray[np.bool_]:
        good = np.ones(len(archs), dtype=bool)
        for c in self.rejects:
            good &= inside(self.space, archs, c, self.layer_cost)
        return good

    def _seen(self, archs: Archs) -> str:
        texts = []
        for c in self.rejects:
            metric = metric_of(c.name, self.layer_cost)
            value = costs_of(self.space, archs, metric) / scale_of(metric)
            texts.append(f"{c.name} seen: {show_quantity(float(value.min()))}..{show_quantity(float(value.max()))}")
        return ", ".join(texts)


def _batch_size(missing: int, accepted: int, trials: int) -> int:
    """Return how many to propose next, from the rate of acceptance so far."""
    rate = (accepted + 1) / (trials + 1)
    return int(min(max(1.1 * missing / rate + 16, 64), 1 << 17))


def window_of(constraint: Constraint, scale: int = 1) -> tuple[int, int]:
    """Return the least and greatest whole number of units that satisfy a constraint.

    Args:
        constraint: Limits in the metric's own unit, such as milliseconds.
        scale: Units in one of the metric's own: 1,000,000 nanoseconds in a millisecond.
    """
    low, high = _units(constraint.low, scale), _units(constraint.high, scale)
    first = -(1 << 62) if low == -inf else ceil(low)
    last = (1 << 62) if high == inf else floor(high)
    return first + (constraint.low_open and first == low), last - (constraint.high_open and last == high)


def _units(limit: float, scale: int) -> float:
    """Return a limit in units; 4.35 ms are 4,350,000 ns, whatever floating point says."""
    scaled = limit * scale
    return float(round(scaled)) if isfinite(scaled) and abs(scaled - round(scaled)) < 1e-6 else scaled


def metric_of(name: str, layer_cost: LayerCost | None) -> Metric:
    """Return the metric of this name: one of `METRICS`, or the measured `layer_cost`."""
    if layer_cost is not None and name == layer_cost.name:
        return layer_cost
    if name not in METRICS:
        raise InputError(f"a budget in {name} needs measurements, got none")
    return name


def inside(
    space: Space, archs: Archs, constraint: Constraint, layer_cost: LayerCost | None = None
) -> npt.NDArray[np.bool_]:
    """Return which rows of `archs` satisfy a cost constraint.

    Args:
        space: The space of the architectures.
        archs: One architecture per row.
        constraint: Limits of one metric.
        layer_cost: The measured metric that the constraint may name.
    """
    metric = metric_of(constraint.name, layer_cost)
    low, high = window_of(constraint, scale_of(metric))
    value = costs_of(space, archs, metric)
    return (value >= low) & (value <= high)


def cost_constraints(where: Iterable[Constraint]) -> list[Constraint]:
    """Return constraints under the names that costs have here (`macs`, `latency/ms`), one per metric."""
    metrics = [*(f"cost/{m}" for m in METRICS), "latency/ms"]
    named = combine(replace(c, name=resolve(c.name, metrics).removeprefix("cost/")) for c in combine(where).values())
    return list(named.values())


def budget_sampler(
    space: Space,
    where: Iterable[Constraint] = (),
    *,
    prior: Prior = "uniform",
    method: str = "exact",
    layer_cost: LayerCost | None = None,
) -> BudgetSampler:
    """Return a sampler over the architectures of a space that satisfy cost constraints.

    Args:
        space: The space to draw from.
        where: Constraints on costs.
        prior: "uniform" over encodings, "depth-uniform" (choice by choice), or weights {choice: {option: weight}}.
        method: "exact", "proposal" (that of AttentiveNAS) or "naive" (rejection).
        layer_cost: A measured metric that constraints may name.
    """
    sampler = _budget_sampler(space, cost_constraints(where), prior, method, layer_cost)
    return replace(sampler, layer_cost=layer_cost)


def _budget_sampler(
    space: Space, constraints: list[Constraint], prior: Prior, method: str, layer_cost: LayerCost | None
) -> BudgetSampler:
    if method == "proposal":
        if prior != "uniform":
            raise InputError(f"the proposal method takes no prior, because it learns its own, got {prior!r}")
        main = constraints[0] if constraints else Constraint("macs")
        metric = metric_of(main.name, layer_cost)
        propose, how = propose_from(space, metric, window_of(main, scale_of(metric)))
        return BudgetSampler(space, tuple(constraints), how, propose, tuple(constraints))
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    additive = [c for c in constraints if c.name in ADDITIVE_METRICS]
    if method == "exact" and isinstance(space, SequentialSpace) and (additive or not isinstance(prior, str)):
        main = _tightest(space, additive, prior, layer_cost) if additive else Constraint("macs")
        return _exact(space, constraints, main, prior, metric_of(main.name, layer_cost))
    how = "rejection of unconstrained draws" if constraints else "unconstrained draws"
    return BudgetSampler(space, tuple(constraints), how, _unconstrained(space, prior), tuple(constraints))


def _unconstrained(space: Space, prior: Prior) -> Propose:
    if not isinstance(prior, str):
        if not isinstance(space, SequentialSpace):
            raise InputError(f"a prior file needs a SequentialSpace, got {space.name}")
        return _exact(space, [], Constraint("macs"), prior, "macs").propose
    if prior not in ("uniform", "depth-uniform"):
        raise UnknownNameError("prior", prior, ("uniform", "depth-uniform"))
    return lambda rng, n: space.sample(rng, n, depth_uniform=prior == "depth-uniform")


def _tightest(
    space: SequentialSpace, additive: list[Constraint], prior: Prior, layer_cost: LayerCost | None
) -> Constraint:
    """Return the constraint that the fewest draws satisfy: counted exactly, it leaves the least to rejection."""
    if len(additive) == 1:
        return additive[0]
    archs = _unconstrained(space, prior)(np.random.default_rng(0), PROBE_DRAWS)
    return min(additive, key=lambda c: float(inside(space, archs, c, layer_cost).mean()))


def _exact(
    space: SequentialSpace, constraints: list[Constraint], main: Constraint, prior: Prior, metric: Metric
) -> BudgetSampler:
    graph, scale = cost_graph_of(space, metric, prior), scale_of(metric)
    low, high = _clip(graph, space, main, scale)
    others = tuple(c for c in constraints if c.name != main.name)
    also = f", then rejection for {' and '.join(str(c) for c in others)}" if others else ""

    def sampler(
        how: str, propose: Propose, rejects: tuple[Constraint, ...], count: tuple[int, int] | None
    ) -> BudgetSampler:
        return BudgetSampler(space, tuple(constraints), how + also, propose, rejects, count)

    if graph.unit >= _affordable_unit(graph):
        counts = count_suffixes(graph, graph.unit)
        if not counts.weight(low, high):
            raise _empty(space, main, counts.nearest(low, high), scale)
        number = count_exactly(counts, low, high) if graph.uniform else None
        how = f"exact: dynamic programming in units of {_shown(graph.unit, scale)} {main.name}"
        return sampler(how, _draws(counts, low, high), others, None if number is None else (number, number))
    halves = list_halves(graph)
    if halves is not None:
        window = halves.window(low, high)
        if not window.weight:
            raise _empty(space, main, halves.nearest(low, high), scale)
        count = (int(window.weight),) * 2 if graph.uniform else None
        return sampler("exact: both halves of the network listed", window.sample, others, count)
    unit = bin_width(graph, low, high)
    counts = count_suffixes(graph, unit, high)
    if not counts.weight(low, high):
        raise _empty(space, main, (None, None), scale)
    bounds = (_surely_inside(counts, low, high), count_exactly(counts, low, high)) if graph.uniform else None
    bins = f"bins of {_shown(unit, scale)} {main.name}"
    how = f"exact: dynamic programming in {bins}, then rejection at the window's edges"
    return sampler(how, _draws(counts, low, high), (main, *others), bounds)


def _draws(counts: SuffixCounts, low: int, high: int) -> Propose:
    return lambda rng, n: counts.sample(rng, n, low, high)


def _shown(cost: int, scale: int) -> str:
    """Write a cost in the metric's own unit, in full."""
    return f"{cost:,}" if scale == 1 else f"{cost / scale:,.6g}"


def _clip(graph: CostGraph, space: Space, constraint: Constraint, scale: int) -> tuple[int, int]:
    """Return the window cut to the costs that occur; an error names them if it holds none."""
    least, most = graph.extremes()
    low, high = window_of(constraint, scale)
    if low > most or high < least:
        raise BudgetError(
            f"{space.name}: no architecture has {constraint}; its {constraint.name} run from "
            f"{show_quantity(least / scale)} to {show_quantity(most / scale)}"
        )
    return max(low, least), min(high, most)


def _empty(space: Space, constraint: Constraint, nearest: tuple[int | None, int | None], scale: int) -> BudgetError:
    costs = [_shown(cost, scale) for cost in nearest if cost is not None]
    hint = f"; the nearest costs are {' and '.join(costs)}" if costs else ""
    return BudgetError(f"{space.name}: no architecture has {constraint}{hint}")


def _affordable_unit(graph: CostGraph, high: int | None = None) -> int:
    """Return the finest unit whose suffix table, up to the cost `high`, fits the limits on memory and work."""
    reach = np.cumsum([int(c.max()) for c in graph.costs[::-1]])[::-1]  # greatest cost of each slot and all behind it
    if high is not None:
        reach = np.minimum(reach, high - graph.offset)
    entries = sum(len(c) * float(r) for c, r in zip(graph.costs, reach, strict=True))
    additions = sum(np.count_nonzero(w) * float(r) for w, r in zip(graph.weights, reach, strict=True))
    return max(1, ceil(entries / MAX_TABLE_ENTRIES), ceil(additions / MAX_ADDITIONS))


def bin_width(graph: CostGraph, low: int, high: int) -> int:
    """Return a unit for counting costs in low..high, as a table for dynamic programming affords it.

    If memory and time allow, rounding to it moves a network by at most a hundredth of the window.
    """
    fine = max(1, (high - low) // (100 * len(graph.slots)))
    return max(fine, _affordable_unit(graph, high))


def _surely_inside(counts: SuffixCounts, low: int, high: int) -> int:
    """Count the networks whose cost lies in the window however their edges were rounded."""
    first, last = low + counts.slack[1] - counts.slack[0], high - counts.slack[1] + counts.slack[0]
    return count_exactly(counts, first, last) if first <= last else 0
