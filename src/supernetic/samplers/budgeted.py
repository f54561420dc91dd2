"""Budgeted sampling: only networks inside a cost window are trained.

Paper: the released code of "Single Path One-Shot", arXiv 1904.00420, which draws a bin of 10 M between 290 and 360 M
multiply-accumulates, then networks until one falls into it.
Differences: one exact draw from the window takes the place of up to 500 rejected ones, and a window may be of any cost,
measured latency included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, isfinite

import numpy as np

from ..costs.budget import BudgetSampler, budget_sampler, cost_constraints, inside
from ..costs.table import LayerCost
from ..errors import BudgetError, InputError
from ..objective import Constraint, parse_where
from ..space import Space
from .step import Draw, SampledPath, Sampler, Step, one

MAX_TRIES = 10_000  # steps of an inner sampler, before giving up


@dataclass(frozen=True)
class Budgeted:
    """Trains only networks inside a cost window.

    Args:
        where: Constraints on costs; all must hold.
        step: Width of bins that the first window is cut into, to draw a bin first; 0 for one window.
        of: Another sampler, whose steps are redrawn until all paths fit; None for one network, exactly uniform.
    """

    where: tuple[str, ...] = ("macs in 290M..360M",)
    step: float = 0.0
    of: Sampler | None = None

    def __post_init__(self) -> None:
        first = self._constraints[0] if self.where else None
        if first is None:
            raise InputError("budgeted: where must name at least one window such as 'macs<=300M', got none")
        if self.step < 0 or (self.step and not (isfinite(first.low) and isfinite(first.high))):
            raise InputError(f"budgeted: bins of {self.step:g} need a window with two ends, got {first}")

    @property
    def _constraints(self) -> list[Constraint]:
        return cost_constraints(parse_where(text) for text in self.where)

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw the paths of one step from the window."""
        constraints = tuple(self._constraints)
        if self.step:
            constraints = (_bin(constraints[0], self.step, draw.rng), *constraints[1:])
        if self.of is None:
            archs, _ = _sampler(space, constraints, draw.layer_cost).sample(draw.rng, 1)
            return Step((SampledPath(one(archs), regularise=True),))
        for _ in range(MAX_TRIES):
            step = self.of(space, draw)
            if _within(space, step, constraints, draw.layer_cost):
                return step
        raise BudgetError(
            f"{space.name}: no step of {self.of} had all its paths within {' and '.join(map(str, constraints))} in "
            f"{MAX_TRIES:,} tries"
        )


def _bin(window: Constraint, width: float, rng: np.random.Generator) -> Constraint:
    """Draw one bin of the window, all equally likely; the last may be narrower."""
    low = window.low + width * int(rng.integers(ceil((window.high - window.low) / width)))
    last = low + width >= window.high
    return replace(
        window,
        low=low,
        high=min(low + width, window.high),
        low_open=window.low_open and low == window.low,
        high_open=window.high_open if last else True,
    )


def _within(space: Space, step: Step, constraints: tuple[Constraint, ...], layer_cost: LayerCost | None) -> bool:
    archs = np.array([p.arch for p in step.paths], dtype=np.int8)
    return all(inside(space, archs, c, layer_cost).all() for c in constraints)


@lru_cache(maxsize=64)
def _sampler(space: Space, constraints: tuple[Constraint, ...], layer_cost: LayerCost | None) -> BudgetSampler:
    return budget_sampler(space, constraints, layer_cost=layer_cost)
