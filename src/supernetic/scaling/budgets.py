"""The budget of a base model by Monte Carlo, and those of its larger siblings: 2^j times as much in stage j.

Paper: "ScaleNet" (paper 003), appendix A: the mean of about 100,000 random base models, then a multiple of 50M near it.
Differences: the paper takes 350M where the mean of its own Table 1 is 319M (nearest multiple: 300M); we take the
nearest and let the user say another. For smaller images and widths 50M would be too coarse: the multiple is a round
number near a sixth of the mean, which is 50M for Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf, log10

import numpy as np

from ..costs.budget import BudgetSampler, budget_sampler
from ..costs.table import costs_of
from ..errors import InputError
from ..objective import Constraint, show_quantity
from ..space import Archs, SequentialSpace, Space
from .macs import require_chains

PATHS = 100_000
WALKED = 2_000  # where the space is no automaton and each network is costed by itself
STAGES = 3
MOST_STAGES = 8


@dataclass(frozen=True)
class Budgets:
    """MACs of a base model and of its scaled siblings, and how far off a network may be."""

    base: float  # f0
    unit: float  # f0 is a multiple of it; a scaled network may be off by 2^j of it
    stages: int = STAGES  # scaled ones, the base model not counted
    mean: float | None = None  # of the base models drawn
    spread: float | None = None  # their standard deviation
    paths: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.stages <= MOST_STAGES:
            raise InputError(f"scaling stages must lie in 1..{MOST_STAGES}, got {self.stages}")
        if not 0 < self.base < inf:
            raise InputError(f"the budget of the base model must be a positive number of MACs, got {self.base:g}")

    @property
    def targets(self) -> tuple[float, ...]:
        """Budgets of stages 0, 1, ..."""
        return tuple(2.0**j * self.base for j in range(self.stages + 1))

    @property
    def window(self) -> Constraint:
        """Base models that are near enough: half a unit on either side, as in the released code."""
        return Constraint("cost/macs", self.base - self.unit / 2, self.base + self.unit / 2)

    def sampler(self, space: Space) -> BudgetSampler:
        """Draws base models from the window as a supernet draws them, choice by choice; an error if there are none."""
        return budget_sampler(space, (self.window,), prior="depth-uniform")

    def __str__(self) -> str:
        unit = show_quantity(self.unit)
        targets = ", ".join(map(show_quantity, self.targets))
        if self.mean is None:
            return f"budgets {targets} MACs (asked for)"
        drawn = f"{self.paths:,} random base models have {show_quantity(self.mean)} MACs on average"
        return f"{drawn}; the nearest multiple of {unit} is {show_quantity(self.base)}: budgets {targets}"


def budgets_for(
    space: Space, stages: int = STAGES, base: float | None = None, *, paths: int = PATHS, seed: int = 0
) -> Budgets:
    """Budgets for a space of base models: `base` as the user says, or a round number near the mean."""
    if base is not None:
        asked = Budgets(base, round_number(base / 6) if base > 0 else 0, stages)
        require_chains(space)
        asked.sampler(space)  # refuses a budget that no base model has
        return asked
    if paths < 1:
        raise InputError(f"the number of paths must be at least 1, got {paths}")
    require_chains(space)
    paths = paths if isinstance(space, SequentialSpace) else min(paths, WALKED)
    macs = costs_of(space, bases(space, paths, seed))
    mean = float(macs.mean())
    unit = round_number(mean / 6)
    return Budgets(unit * max(1, round(mean / unit)), unit, stages, mean, float(macs.std()), paths)


def bases(space: Space, n: int, seed: int) -> Archs:
    """Random base models as a supernet draws them: choice by choice."""
    return space.sample(np.random.default_rng(seed), n, depth_uniform=True)


def round_number(value: float) -> float:
    """The one of 1, 2 and 5 times the powers of ten that is nearest to `value` in proportion."""
    power = 10.0 ** floor(log10(value))
    return min((m * power for m in (1, 2, 5, 10)), key=lambda x: abs(log10(x / value)))
