"""The budget of a base model by Monte Carlo, and of its scaled versions: 2^j times as much in stage j.

Paper: "ScaleNet", appendix A: the mean of about 100,000 random base models, then a multiple of 50M near it.
Differences: the paper takes 350M although the mean of its Table 1 is 319M (nearest multiple: 300M); we take the nearest
multiple unless the user gives a budget. For smaller images and widths 50M would be too coarse: the multiple is of a
round number near a sixth of the mean, which is 50M for Table 1.
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

MONTE_CARLO_PATHS = 100_000
MAX_PATHS_WITHOUT_TABLE = 2_000  # if the space is not an automaton and each network is costed separately
DEFAULT_STAGES = 3
MAX_STAGES = 8


@dataclass(frozen=True)
class Budgets:
    """MACs of a base model and of its scaled versions, and how far off a network may be.

    Args:
        base: Budget of the base model, the paper's f0.
        unit: The base is a multiple of it; a network of stage j may be off by 2^j units.
        stages: Number of scaled versions.
        mean: Mean MACs of the random base models; None if the user gave the budget.
        spread: Their standard deviation.
        paths: Their number.
    """

    base: float
    unit: float
    stages: int = DEFAULT_STAGES
    mean: float | None = None
    spread: float | None = None
    paths: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.stages <= MAX_STAGES:
            raise InputError(f"the number of scaling stages must lie in 1..{MAX_STAGES}, got {self.stages}")
        if not 0 < self.base < inf:
            raise InputError(f"the budget of the base model must be a positive number of MACs, got {self.base:g}")

    @property
    def targets(self) -> tuple[float, ...]:
        """Budgets of stages 0, 1, ..."""
        return tuple(2.0**j * self.base for j in range(self.stages + 1))

    @property
    def window(self) -> Constraint:
        """MACs of acceptable base models: the budget and half a unit on either side, as in the released code."""
        return Constraint("cost/macs", self.base - self.unit / 2, self.base + self.unit / 2)

    def sampler(self, space: Space) -> BudgetSampler:
        """Return a sampler of base models in the window, which draws choice by choice as supernets do."""
        return budget_sampler(space, (self.window,), prior="depth-uniform")

    def __str__(self) -> str:
        unit = show_quantity(self.unit)
        targets = ", ".join(map(show_quantity, self.targets))
        if self.mean is None:
            return f"budgets {targets} MACs (as given)"
        drawn = f"{self.paths:,} random base models have {show_quantity(self.mean)} MACs on average"
        return f"{drawn}; the nearest multiple of {unit} is {show_quantity(self.base)}: budgets {targets}"


def budgets_for(
    space: Space,
    stages: int = DEFAULT_STAGES,
    base: float | None = None,
    *,
    paths: int = MONTE_CARLO_PATHS,
    seed: int = 0,
) -> Budgets:
    """Return budgets for a space of base models.

    Args:
        space: The base models.
        stages: Number of scaled versions.
        base: Budget of the base model in MACs; None for a round number near the mean of random base models.
        paths: Number of random base models.
        seed: Of their draw.
    """
    if base is not None:
        budgets = Budgets(base, round_number(base / 6) if base > 0 else 0, stages)
        require_chains(space)
        budgets.sampler(space)  # raises an error if no base model has the budget
        return budgets
    if paths < 1:
        raise InputError(f"the number of paths must be at least 1, got {paths}")
    require_chains(space)
    paths = paths if isinstance(space, SequentialSpace) else min(paths, MAX_PATHS_WITHOUT_TABLE)
    macs = costs_of(space, bases(space, paths, seed))
    mean = float(macs.mean())
    unit = round_number(mean / 6)
    return Budgets(unit * max(1, round(mean / unit)), unit, stages, mean, float(macs.std()), paths)


def bases(space: Space, n: int, seed: int) -> Archs:
    """Draw base models as a supernet draws them: choice by choice."""
    return space.sample(np.random.default_rng(seed), n, depth_uniform=True)


def round_number(value: float) -> float:
    """Return the nearest of 1, 2 and 5 times the powers of ten, on a logarithmic scale."""
    power = 10.0 ** floor(log10(value))
    return min((m * power for m in (1, 2, 5, 10)), key=lambda x: abs(log10(x / value)))
