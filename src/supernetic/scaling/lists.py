"""Lists of depth, width and resolution factors for each scaling stage, for any space of chains.

Paper: "ScaleNet" (paper 003), appendix E: the centre of each stage's lists by Monte Carlo, so that its networks cost
about 2^j times their base; around it steps of .04 for depth and width and of .07 for resolution.
Differences: the paper gives no more detail. Ours: one centre for all three factors; a stage's list begins one step
behind the last one's end and ends as far above the centre as it begins below, with three values at least. Table 2
follows from it up to a step or two (`table_2`). Sides are whole pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ..blueprint import Blueprint
from ..errors import BudgetError
from ..space import Space
from ..spaces.scaled import Strategies
from ..spaces.scalenet import FACTORS, PIXELS, SIDE
from ..strategy import LARGEST, Scaling, ceil_of
from .budgets import Budgets
from .macs import blueprints_of, require_chains, scaled_macs

BASES = 50  # drawn from the base budget's window
FACTOR_STEP, SIDE_STEP = 0.04, 0.07
LEAST = 3  # values of a list
PRECISION = 0.005  # of a centre


@dataclass(frozen=True)
class Lists:
    """Lists, and what they cost."""

    strategies: Strategies
    centres: tuple[float, ...]  # the factor of all three that costs 2^j times as much
    growth: tuple[float, ...]  # mean cost of a stage's networks over that of their bases

    @property
    def off(self) -> tuple[float, ...]:
        """How far each stage's mean is from 2^j, relative."""
        return tuple(g / 2.0**j - 1 for j, g in enumerate(self.growth))

    def __str__(self) -> str:
        lines = ["stage  depth, width  side         mean cost"]
        for j, (f, p) in enumerate(zip(self.strategies.factors, self.strategies.pixels, strict=True)):
            lists = f"{f[0]:.2f}..{f[-1]:.2f}   {p[0]}..{p[-1]} px".ljust(25)
            lines.append(f"{j:5}  {lists}{self.growth[j]:.2f} x base ({self.off[j]:+.0%})")
        return "\n".join(lines)


def lists_for(space: Space, budgets: Budgets, *, rule: str = "scalenet", bases: int = BASES, seed: int = 0) -> Lists:
    """Lists for a space of base models, by `bases` of them that cost about the base budget."""
    require_chains(space)
    archs, _ = budgets.sampler(space).sample(np.random.default_rng(seed), bases)
    networks = blueprints_of(space, archs)
    spatial = getattr(space, "spatial", "ceil")
    centres = [_centre(space, networks, 2.0**j, rule, spatial) for j in range(1, budgets.stages + 1)]
    factors = [(1.0,), *_tiled(centres, FACTOR_STEP, 1 + FACTOR_STEP)]
    resolutions = [(1.0,), *_tiled(centres, SIDE_STEP, 1.0)]
    pixels = tuple(tuple(dict.fromkeys(ceil_of(networks[0].resolution * r) for r in stage)) for stage in resolutions)
    strategies = Strategies(tuple(factors), pixels, rule, spatial)
    return Lists(strategies, (1.0, *centres), growth_of(networks, strategies))


def growth_of(networks: Sequence[Blueprint], strategies: Strategies) -> tuple[float, ...]:
    """Mean MACs of all strategies of each stage over the mean MACs of the base networks."""
    costs = [scaled_macs(networks, scalings_of(strategies, j)).mean() for j in range(len(strategies.factors))]
    return tuple(float(c / costs[0]) for c in costs)


def scalings_of(strategies: Strategies, stage: int) -> list[Scaling]:
    """All strategies of a stage, the resolution fastest."""
    factors, pixels = range(len(strategies.factors[stage])), range(len(strategies.pixels[stage]))
    return [strategies[stage, d, w, r] for d, w, r in product(factors, factors, pixels)]


def table_2(resolution: int = SIDE) -> Strategies:
    """The paper's own lists, in proportion to a side."""
    return Strategies(FACTORS, tuple(tuple(ceil_of(p * resolution / SIDE) for p in stage) for stage in PIXELS))


def _centre(space: Space, networks: Sequence[Blueprint], growth: float, rule: str, spatial: str) -> float:
    """The factor of depth, width and resolution by which networks grow this much, by bisection."""
    base = scaled_macs(networks, [Scaling(rule=rule, spatial=spatial)]).mean()

    def costs(factor: float) -> float:
        return float(scaled_macs(networks, [Scaling(factor, factor, factor, rule, spatial)]).mean() / base)

    low, high = 1.0, 2.0
    while costs(high) < growth:
        low, high = high, 2 * high
        if high > LARGEST:
            rule = f"no factor up to {LARGEST} makes its networks cost {growth:g} times as much"
            raise BudgetError(f"{space.name}: {rule}")
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if costs(middle) < growth else (low, middle)
    return high


def _tiled(centres: Sequence[float], step: float, start: float) -> list[tuple[float, ...]]:
    lists = []
    for centre in centres:
        n = max(LEAST, round(2 * (centre - start) / step) + 1)
        lists.append(tuple(round(start + i * step, 2) for i in range(n)))
        start = round(lists[-1][-1] + step, 2)
    return lists
