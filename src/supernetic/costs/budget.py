"""Architectures at a budget: exactly uniform over a cost window, with the number of trials stated.

Paper: replaces the rejection of AttentiveNAS (arXiv 2011.09011, appendix C: about 12 trials with its proposal, 50,878
without). `method="exact"` takes, in this order, what the space allows:

    dynamic programming   costs with a useful common divisor: one trial per sample
    halves                both halves of the automaton can be listed: one trial per sample
    bins                  dynamic programming in coarser units, then rejection: exactly uniform, trials near 1
    rejection             spaces that are no automaton (NAS-Bench-101)

Constraints on further metrics are met by rejection on top, and a window that holds nothing is an error that names the
nearest costs there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil, floor, inf

import numpy as np
import numpy.typing as npt

from ..errors import BudgetError, InputError, UnknownNameError
from ..objective import Constraint, combine, show_quantity
from ..space import Archs, SequentialSpace, Space
from .counting import SuffixCounts, count_exactly, count_suffixes
from .halves import list_halves
from .macs import METRICS
from .proposal import propose_from
from .table import costs_of
from .walk import Prior, Walk, walk_of

METHODS = ("exact", "proposal", "naive")
ADDITIVE = ("macs", "params")
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
            low, high = window_of(c)
            value = costs_of(self.space, archs, c.name)
            good &= (value >= low) & (value <= high)
        return good

    def _asked(self) -> str:
        return " and ".join(str(c) for c in self.constraints)

    def _seen(self, archs: Archs) -> str:
        texts = []
        for c in self.rejects:
            value = costs_of(self.space, archs, c.name)
            texts.append(f"{c.name} seen: {show_quantity(int(value.min()))}..{show_quantity(int(value.max()))}")
        return ", ".join(texts)


def _batch(missing: int, found: int, trials: int) -> int:
    """How many to propose next, from the acceptance so far."""
    rate = (found + 1) / (trials + 1)
    return int(min(max(1.1 * missing / rate + 16, 64), 1 << 17))


def window_of(constraint: Constraint) -> tuple[int, int]:
    """The whole numbers that satisfy a constraint."""
    low = -(1 << 62) if constraint.low == -inf else ceil(constraint.low)
    high = (1 << 62) if constraint.high == inf else floor(constraint.high)
    return low + (constraint.low_open and low == constraint.low), high - (
        constraint.high_open and high == constraint.high
    )


def cost_constraints(where: Iterable[Constraint]) -> list[Constraint]:
    """Constraints with the short names of cost metrics, one per metric."""
    merged = combine(where).values()
    named = combine(replace(c, name=c.name.removeprefix("cost/")) for c in merged)
    for name in named:
        if name not in METRICS:
            raise UnknownNameError("cost", name, METRICS)
    return list(named.values())


def budget_sampler(
    space: Space, where: Iterable[Constraint] = (), *, prior: Prior = "uniform", method: str = "exact"
) -> BudgetSampler:
    """A sampler over the architectures of `space` that satisfy the cost constraints in `where`."""
    constraints = cost_constraints(where)
    if method == "proposal":
        if prior != "uniform":
            raise InputError(f"the proposal method learns its own frequencies and takes no prior, got {prior!r}")
        main = constraints[0] if constraints else Constraint("macs")
        propose, how = propose_from(space, main.name, window_of(main))
        return BudgetSampler(space, tuple(constraints), how, propose, tuple(constraints))
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    additive = [c for c in constraints if c.name in ADDITIVE]
    if method == "exact" and isinstance(space, SequentialSpace) and (additive or not isinstance(prior, str)):
        return _exact(space, constraints, _tightest(space, additive, prior) if additive else Constraint("macs"), prior)
    how = "rejection of unconstrained draws" if constraints else "unconstrained draws"
    return BudgetSampler(space, tuple(constraints), how, _unconstrained(space, prior), tuple(constraints))


def _unconstrained(space: Space, prior: Prior) -> Propose:
    if not isinstance(prior, str):
        if not isinstance(space, SequentialSpace):
            raise InputError(f"a prior file needs a space that is an automaton, {space.name} is none")
        return _exact(space, [], Constraint("macs"), prior).propose
    if prior not in ("uniform", "depth-uniform"):
        raise UnknownNameError("prior", prior, ("uniform", "depth-uniform"))
    return lambda rng, n: space.sample(rng, n, depth_uniform=prior == "depth-uniform")


def _tightest(space: SequentialSpace, additive: list[Constraint], prior: Prior) -> Constraint:
    """The constraint that the fewest of 2,000 draws satisfy: counted exactly, it leaves the least to rejection."""
    if len(additive) == 1:
        return additive[0]
    archs = _unconstrained(space, prior)(np.random.default_rng(0), 2000)

    def share(c: Constraint) -> float:
        low, high = window_of(c)
        value = costs_of(space, archs, c.name)
        return float(((value >= low) & (value <= high)).mean())

    return min(additive, key=share)


def _exact(space: SequentialSpace, constraints: list[Constraint], main: Constraint, prior: Prior) -> BudgetSampler:
    walk = walk_of(space, main.name, prior)
    low, high = _clip(walk, space, main)
    others = tuple(c for c in constraints if c.name != main.name)
    also = f", then rejection for {' and '.join(str(c) for c in others)}" if others else ""

    def made(
        how: str, propose: Propose, rejects: tuple[Constraint, ...], count: tuple[int, int] | None
    ) -> BudgetSampler:
        return BudgetSampler(space, tuple(constraints), how + also, propose, rejects, count)

    if walk.unit >= _affordable_unit(walk):
        counts = count_suffixes(walk, walk.unit)
        if not counts.weight(low, high):
            raise _empty(space, main, counts.nearest(low, high))
        number = count_exactly(counts, low, high) if walk.uniform else None
        how = f"exact: dynamic programming in units of {walk.unit:,} {main.name}"
        return made(how, _draws(counts, low, high), others, None if number is None else (number, number))
    halves = list_halves(walk)
    if halves is not None:
        window = halves.window(low, high)
        if not window.weight:
            raise _empty(space, main, halves.nearest(low, high))
        count = (int(window.weight),) * 2 if walk.uniform else None
        return made("exact: both halves of the network listed", window.sample, others, count)
    unit = bin_width(walk, low, high)
    counts = count_suffixes(walk, unit, high)
    if not counts.weight(low, high):
        raise _empty(space, main, (None, None))
    bounds = (_surely_inside(counts, low, high), count_exactly(counts, low, high)) if walk.uniform else None
    how = f"exact: dynamic programming in bins of {unit:,} {main.name}, then rejection at the window's edges"
    return made(how, _draws(counts, low, high), (main, *others), bounds)


def _draws(counts: SuffixCounts, low: int, high: int) -> Propose:
    return lambda rng, n: counts.sample(rng, n, low, high)


def _clip(walk: Walk, space: Space, constraint: Constraint) -> tuple[int, int]:
    """The window cut to the costs there are, or an error that says what they are."""
    least, most = walk.extremes()
    low, high = window_of(constraint)
    if low > most or high < least:
        raise BudgetError(
            f"{space.name}: no architecture has {constraint}; its {constraint.name} run from "
            f"{show_quantity(least)} to {show_quantity(most)}"
        )
    return max(low, least), min(high, most)


def _empty(space: Space, constraint: Constraint, nearest: tuple[int | None, int | None]) -> BudgetError:
    known = [f"{cost:,}" for cost in nearest if cost is not None]
    hint = f"; the nearest there are: {' and '.join(known)}" if known else ""
    return BudgetError(f"{space.name}: no architecture has {constraint}{hint}")


def _affordable_unit(walk: Walk, high: int | None = None) -> int:
    """The finest unit whose suffix table, up to the cost `high`, fits the limits on memory and work."""
    reach = np.cumsum([int(c.max()) for c in walk.costs[::-1]])[::-1]  # greatest cost of what is left from each slot on
    if high is not None:
        reach = np.minimum(reach, high - walk.offset)
    entries = sum(len(c) * float(r) for c, r in zip(walk.costs, reach, strict=True))
    additions = sum(np.count_nonzero(w) * float(r) for w, r in zip(walk.weights, reach, strict=True))
    return max(1, ceil(entries / TABLE_ENTRIES), ceil(additions / ADDITIONS))


def bin_width(walk: Walk, low: int, high: int) -> int:
    """Units so fine that rounding moves a network by at most a hundredth of the window, limits permitting."""
    wanted = max(1, (high - low) // (100 * len(walk.slots)))
    return max(wanted, _affordable_unit(walk, high))


def _surely_inside(counts: SuffixCounts, low: int, high: int) -> int:
    """Networks whose cost lies in the window however their edges were rounded."""
    first, last = low + counts.slack[1] - counts.slack[0], high - counts.slack[1] + counts.slack[0]
    return count_exactly(counts, first, last) if first <= last else 0
