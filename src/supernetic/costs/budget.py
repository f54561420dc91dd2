"""Architectures at a budget: exactly uniform over a cost window, with the number of trials stated.

Paper: replaces the rejection of AttentiveNAS (arXiv 2011.09011, appendix C: about 12 trials with its proposal, 50,878
without). `method="exact"` takes, in this order, what the space allows:

    dynamic programming   costs with a useful common divisor: one trial per sample
    halves                both halves of the automaton can be listed: one trial per sample
    bins                  dynamic programming in coarser units, then rejection: exactly uniform, trials near 1
    rejection             spaces that are no automaton (NAS-Bench-101)

Constraints on further metrics are met by rejection on top, and a window that holds nothing is an error that names the
nearest costs there are. With a `price` (measured latencies) there is one more metric, treated like MACs.
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
ADDITIVE = ("macs", "params", "latency/ms")
TABLE_ENTRIES = 20_000_000  # of the largest table for dynamic programming: 160 MB
ADDITIONS = 1_000_000_000  # to build it: a second or two
CAP = 100_000  # trials per sample before a sampler gives up

Propose = Callable[[np.random.Generator, int], Archs]


@dataclass(frozen=True)
class BudgetSampler:
    """Draws architectures that satisfy all constraints; `how` says in words by which way."""

    space: Space
    constraints: tuple[Constraint, ...]
    how: str
    propose: Propose
    rejects: tuple[Constraint, ...]  # constraints that proposals may violate
    count: tuple[int, int] | None = None  # bounds on the number of architectures in the window; equal where exact
    cap: int = CAP
    layer_cost: LayerCost | None = None  # what constraints by its name are about

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Archs, int]:
        """`n` architectures and the number of trials they took."""
        if not self.rejects:
            return self.propose(rng, n), n
        kept: list[Archs] = []
        found = trials = 0
        while found < n:
            batch = self.propose(rng, _batch(n - found, found, trials))
            good = self._accepted(batch)
            places = np.flatnonzero(good)[: n - found]
            # Trials end with the draw that completed the order, as if the batch had been drawn one by one.
            trials += len(batch) if found + len(places) < n else int(places[-1]) + 1
            found += len(places)
            kept.append(batch[places])
            if trials > self.cap * max(1, n) or (not found and trials > 10 * self.cap):
                raise BudgetError(
                    f"{self.space.name}: {found} of {n} architectures satisfied {self._asked()} in {trials:,} trials "
                    f"({self.how}); {self._seen(batch)}"
                )
        return np.concatenate(kept) if kept else np.empty((0, len(self.space.choices)), dtype=np.int8), trials

    def _accepted(self, archs: Archs) -> npt.NDArray[np.bool_]:
        good = np.ones(len(archs), dtype=bool)
        for c in self.rejects:
            good &= inside(self.space, archs, c, self.layer_cost)
        return good

    def _asked(self) -> str:
        return " and ".join(str(c) for c in self.constraints)

    def _seen(self, archs: Archs) -> str:
        texts = []
        for c in self.rejects:
            metric = metric_of(c.name, self.layer_cost)
            value = costs_of(self.space, archs, metric) / scale_of(metric)
            texts.append(f"{c.name} seen: {show_quantity(float(value.min()))}..{show_quantity(float(value.max()))}")
        return ", ".join(texts)


def _batch(missing: int, found: int, trials: int) -> int:
    """How many to propose next, from the acceptance so far."""
    rate = (found + 1) / (trials + 1)
    return int(min(max(1.1 * missing / rate + 16, 64), 1 << 17))


def window_of(constraint: Constraint, scale: int = 1) -> tuple[int, int]:
    """The whole numbers of units that satisfy a constraint, `scale` of them in one of its own."""
    low, high = _units(constraint.low, scale), _units(constraint.high, scale)
    first = -(1 << 62) if low == -inf else ceil(low)
    last = (1 << 62) if high == inf else floor(high)
    return first + (constraint.low_open and first == low), last - (constraint.high_open and last == high)


def _units(limit: float, scale: int) -> float:
    """A limit in units; 4.35 ms are 4,350,000 ns, whatever floating point says."""
    scaled = limit * scale
    return float(round(scaled)) if isfinite(scaled) and abs(scaled - round(scaled)) < 1e-6 else scaled


def metric_of(name: str, layer_cost: LayerCost | None) -> Metric:
    """The metric that a cost constraint speaks of."""
    if layer_cost is not None and name == layer_cost.name:
        return layer_cost
    if name not in METRICS:
        raise InputError(f"{name} has to be measured before it can be a budget, and no measurements were given")
    return name


def inside(
    space: Space, archs: Archs, constraint: Constraint, layer_cost: LayerCost | None = None
) -> npt.NDArray[np.bool_]:
    """Which rows satisfy a cost constraint."""
    metric = metric_of(constraint.name, layer_cost)
    low, high = window_of(constraint, scale_of(metric))
    value = costs_of(space, archs, metric)
    return (value >= low) & (value <= high)


def cost_constraints(where: Iterable[Constraint]) -> list[Constraint]:
    """Constraints by the names that costs have here (`macs`, `latency/ms`), one per metric."""
    known = [*(f"cost/{m}" for m in METRICS), "latency/ms"]
    named = combine(replace(c, name=resolve(c.name, known).removeprefix("cost/")) for c in combine(where).values())
    return list(named.values())


def budget_sampler(
    space: Space,
    where: Iterable[Constraint] = (),
    *,
    prior: Prior = "uniform",
    method: str = "exact",
    layer_cost: LayerCost | None = None,
) -> BudgetSampler:
    """A sampler over the architectures of `space` that satisfy the cost constraints in `where`."""
    made = _budget_sampler(space, cost_constraints(where), prior, method, layer_cost)
    return replace(made, layer_cost=layer_cost)


def _budget_sampler(
    space: Space, constraints: list[Constraint], prior: Prior, method: str, layer_cost: LayerCost | None
) -> BudgetSampler:
    if method == "proposal":
        if prior != "uniform":
            raise InputError(f"the proposal method learns its own frequencies and takes no prior, got {prior!r}")
        main = constraints[0] if constraints else Constraint("macs")
        metric = metric_of(main.name, layer_cost)
        propose, how = propose_from(space, metric, window_of(main, scale_of(metric)))
        return BudgetSampler(space, tuple(constraints), how, propose, tuple(constraints))
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    additive = [c for c in constraints if c.name in ADDITIVE]
    if method == "exact" and isinstance(space, SequentialSpace) and (additive or not isinstance(prior, str)):
        main = _tightest(space, additive, prior, layer_cost) if additive else Constraint("macs")
        return _exact(space, constraints, main, prior, metric_of(main.name, layer_cost))
    how = "rejection of unconstrained draws" if constraints else "unconstrained draws"
    return BudgetSampler(space, tuple(constraints), how, _unconstrained(space, prior), tuple(constraints))


def _unconstrained(space: Space, prior: Prior) -> Propose:
    if not isinstance(prior, str):
        if not isinstance(space, SequentialSpace):
            raise InputError(f"a prior file needs a space that is an automaton, {space.name} is none")
        return _exact(space, [], Constraint("macs"), prior, "macs").propose
    if prior not in ("uniform", "depth-uniform"):
        raise UnknownNameError("prior", prior, ("uniform", "depth-uniform"))
    return lambda rng, n: space.sample(rng, n, depth_uniform=prior == "depth-uniform")


def _tightest(
    space: SequentialSpace, additive: list[Constraint], prior: Prior, layer_cost: LayerCost | None
) -> Constraint:
    """The constraint that the fewest of 2,000 draws satisfy: counted exactly, it leaves the least to rejection."""
    if len(additive) == 1:
        return additive[0]
    archs = _unconstrained(space, prior)(np.random.default_rng(0), 2000)
    return min(additive, key=lambda c: float(inside(space, archs, c, layer_cost).mean()))


def _exact(
    space: SequentialSpace, constraints: list[Constraint], main: Constraint, prior: Prior, metric: Metric
) -> BudgetSampler:
    walk, scale = cost_graph_of(space, metric, prior), scale_of(metric)
    low, high = _clip(walk, space, main, scale)
    others = tuple(c for c in constraints if c.name != main.name)
    also = f", then rejection for {' and '.join(str(c) for c in others)}" if others else ""

    def made(
        how: str, propose: Propose, rejects: tuple[Constraint, ...], count: tuple[int, int] | None
    ) -> BudgetSampler:
        return BudgetSampler(space, tuple(constraints), how + also, propose, rejects, count)

    if walk.unit >= _affordable_unit(walk):
        counts = count_suffixes(walk, walk.unit)
        if not counts.weight(low, high):
            raise _empty(space, main, counts.nearest(low, high), scale)
        number = count_exactly(counts, low, high) if walk.uniform else None
        how = f"exact: dynamic programming in units of {_shown(walk.unit, scale)} {main.name}"
        return made(how, _draws(counts, low, high), others, None if number is None else (number, number))
    halves = list_halves(walk)
    if halves is not None:
        window = halves.window(low, high)
        if not window.weight:
            raise _empty(space, main, halves.nearest(low, high), scale)
        count = (int(window.weight),) * 2 if walk.uniform else None
        return made("exact: both halves of the network listed", window.sample, others, count)
    unit = bin_width(walk, low, high)
    counts = count_suffixes(walk, unit, high)
    if not counts.weight(low, high):
        raise _empty(space, main, (None, None), scale)
    bounds = (_surely_inside(counts, low, high), count_exactly(counts, low, high)) if walk.uniform else None
    bins = f"bins of {_shown(unit, scale)} {main.name}"
    how = f"exact: dynamic programming in {bins}, then rejection at the window's edges"
    return made(how, _draws(counts, low, high), (main, *others), bounds)


def _draws(counts: SuffixCounts, low: int, high: int) -> Propose:
    return lambda rng, n: counts.sample(rng, n, low, high)


def _shown(cost: int, scale: int) -> str:
    """A cost in the metric's own units, in full."""
    return f"{cost:,}" if scale == 1 else f"{cost / scale:,.6g}"


def _clip(walk: CostGraph, space: Space, constraint: Constraint, scale: int) -> tuple[int, int]:
    """The window cut to the costs there are, or an error that says what they are."""
    least, most = walk.extremes()
    low, high = window_of(constraint, scale)
    if low > most or high < least:
        raise BudgetError(
            f"{space.name}: no architecture has {constraint}; its {constraint.name} run from "
            f"{show_quantity(least / scale)} to {show_quantity(most / scale)}"
        )
    return max(low, least), min(high, most)


def _empty(space: Space, constraint: Constraint, nearest: tuple[int | None, int | None], scale: int) -> BudgetError:
    known = [_shown(cost, scale) for cost in nearest if cost is not None]
    hint = f"; the nearest there are: {' and '.join(known)}" if known else ""
    return BudgetError(f"{space.name}: no architecture has {constraint}{hint}")


def _affordable_unit(walk: CostGraph, high: int | None = None) -> int:
    """The finest unit whose suffix table, up to the cost `high`, fits the limits on memory and work."""
    reach = np.cumsum([int(c.max()) for c in walk.costs[::-1]])[::-1]  # greatest cost of what is left from each slot on
    if high is not None:
        reach = np.minimum(reach, high - walk.offset)
    entries = sum(len(c) * float(r) for c, r in zip(walk.costs, reach, strict=True))
    additions = sum(np.count_nonzero(w) * float(r) for w, r in zip(walk.weights, reach, strict=True))
    return max(1, ceil(entries / TABLE_ENTRIES), ceil(additions / ADDITIONS))


def bin_width(walk: CostGraph, low: int, high: int) -> int:
    """Units so fine that rounding moves a network by at most a hundredth of the window, limits permitting."""
    wanted = max(1, (high - low) // (100 * len(walk.slots)))
    return max(wanted, _affordable_unit(walk, high))


def _surely_inside(counts: SuffixCounts, low: int, high: int) -> int:
    """Networks whose cost lies in the window however their edges were rounded."""
    first, last = low + counts.slack[1] - counts.slack[0], high - counts.slack[1] + counts.slack[0]
    return count_exactly(counts, first, last) if first <= last else 0
