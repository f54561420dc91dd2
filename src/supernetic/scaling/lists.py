"""Lists of depth, width and resolution factors for each scaling stage, for any space of chains.

Paper: "ScaleNet", appendix E: the centre of each stage's lists by Monte Carlo, so that its networks cost about 2^j
times their base; around it steps of .04 for depth and width and of .07 for resolution.
Differences: the paper gives no more detail. Ours: one centre for all three factors. The list of a stage begins one step
above the end of the previous one, ends as far above the centre as it begins below it, and has at least three values.
This reproduces Table 2 up to a step or two (`table_2`). Resolutions are whole pixels.
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
from ..spaces.scalenet import BASE_RESOLUTION, FACTORS, PIXELS
from ..strategy import MAX_FACTOR, Scaling, ceil_of
from .budgets import Budgets
from .macs import blueprints_of, require_chains, scaled_macs

BASE_NETWORKS = 50  # drawn from the window of the base budget
FACTOR_STEP, RESOLUTION_STEP = 0.04, 0.07
MIN_LIST_LENGTH = 3
CENTRE_TOLERANCE = 0.005


@dataclass(frozen=True)
class Lists:
    """The lists of all stages, and what their networks cost."""

    strategies: Strategies
    centres: tuple[float, ...]  # by stage: the factor of all three dimensions that costs 2^j times as much
    growth: tuple[float, ...]  # by stage: mean cost of its networks over that of their bases

    @property
    def off(self) -> tuple[float, ...]:
        """Relative distance of each stage's mean cost from 2^j times the base."""
        return tuple(g / 2.0**j - 1 for j, g in enumerate(self.growth))

    def __str__(self) -> str:
        lines = ["stage  depth, width  resolution   mean cost"]
        for j, (f, p) in enumerate(zip(self.strategies.factors, self.strategies.pixels, strict=True)):
            lists = f"{f[0]:.2f}..{f[-1]:.2f}   {p[0]}..{p[-1]} px".ljust(25)
            lines.append(f"{j:5}  {lists}{self.growth[j]:.2f} x base ({self.off[j]:+.0%})")
        return "\n".join(lines)


def lists_for(
    space: Space, budgets: Budgets, *, rule: str = "scalenet", bases: int = BASE_NETWORKS, seed: int = 0
) -> Lists:
    """Return lists for a space of base models.

    Args:
        space: The base models.
        budgets: Budgets of the base model and of each stage.
        rule: The scaling rule (`strategy.RULES`).
        bases: How many base models of about the base budget to average over.
        seed: Of their draw.
    """
    require_chains(space)
    archs, _ = budgets.sampler(space).sample(np.random.default_rng(seed), bases)
    networks = blueprints_of(space, archs)
    spatial = getattr(space, "spatial", "ceil")
    centres = [_centre(space, networks, 2.0**j, rule, spatial) for j in range(1, budgets.stages + 1)]
    factors = [(1.0,), *_tiled(centres, FACTOR_STEP, 1 + FACTOR_STEP)]
    resolutions = [(1.0,), *_tiled(centres, RESOLUTION_STEP, 1.0)]
    pixels = tuple(tuple(dict.fromkeys(ceil_of(networks[0].resolution * r) for r in stage)) for stage in resolutions)
    strategies = Strategies(tuple(factors), pixels, rule, spatial)
    return Lists(strategies, (1.0, *centres), growth_of(networks, strategies))


def growth_of(networks: Sequence[Blueprint], strategies: Strategies) -> tuple[float, ...]:
    """Return for each stage the mean MACs under all its strategies, over the mean MACs of the base networks."""
    costs = [scaled_macs(networks, scalings_of(strategies, j)).mean() for j in range(len(strategies.factors))]
    return tuple(float(c / costs[0]) for c in costs)


def scalings_of(strategies: Strategies, stage: int) -> list[Scaling]:
    """Return all strategies of a stage; the resolution varies fastest."""
    factors, pixels = range(len(strategies.factors[stage])), range(len(strategies.pixels[stage]))
    return [strategies[stage, d, w, r] for d, w, r in product(factors, factors, pixels)]


def table_2(resolution: int = BASE_RESOLUTION) -> Strategies:
    """Return the lists of the paper, in proportion to the resolution of the base network."""
    pixels = tuple(tuple(ceil_of(p * resolution / BASE_RESOLUTION) for p in stage) for stage in PIXELS)
    return Strategies(FACTORS, pixels)


def _centre(space: Space, networks: Sequence[Blueprint], growth: float, rule: str, spatial: str) -> float:
    """Return the common factor of depth, width and resolution that makes networks cost `growth` times as much."""
    base = scaled_macs(networks, [Scaling(rule=rule, spatial=spatial)]).mean()

    def costs(factor: float) -> float:
        return float(scaled_macs(networks, [Scaling(factor, factor, factor, rule, spatial)]).mean() / base)

    low, high = 1.0, 2.0
    while costs(high) < growth:
        low, high = high, 2 * high
        if high > MAX_FACTOR:
            raise BudgetError(
                f"{space.name}: scaled by a factor of {MAX_FACTOR} its networks must cost {growth:g} times as much, "
                f"got {costs(MAX_FACTOR):.3g} times"
            )
    while high - low > CENTRE_TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if costs(middle) < growth else (low, middle)
    return high


def _tiled(centres: Sequence[float], step: float, start: float) -> list[tuple[float, ...]]:
    lists = []
    for centre in centres:
        n = max(MIN_LIST_LENGTH, round(2 * (centre - start) / step) + 1)
        lists.append(tuple(round(start + i * step, 2) for i in range(n)))
        start = round(lists[-1][-1] + step, 2)
    return lists
