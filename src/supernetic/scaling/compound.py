"""Standard ways to make a network as large as another: compound scaling, and a width that fits.

Paper: Tan & Le, "EfficientNet", arXiv 1905.11946: depth, width and resolution grow as 1.2^x, 1.1^x and 1.15^x.
Differences: x is what gives the MACs asked for, not a whole number; widths are rounded by the rule that the searched
family has, so that two strategies are compared and not two roundings.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..blueprint import Blueprint
from ..errors import BudgetError
from ..strategy import Scaling
from .macs import scaled_macs

ALPHA, BETA, GAMMA = 1.2, 1.1, 1.15
MOST = 12.0  # of the exponent: 4096 times the cost
PRECISION = 0.002
WIDEST = 8.0


def compound(network: Blueprint, macs: float, rule: str = "scalenet", spatial: str = "ceil") -> Scaling:
    """The compound scaling whose MACs are nearest to those asked for."""

    def at(step: int) -> Scaling:
        x = step * PRECISION
        return Scaling(ALPHA**x, BETA**x, GAMMA**x, rule, spatial)

    return _nearest(network, macs, at, 0, round(MOST / PRECISION))


def at_width(
    network: Blueprint, macs: float, depth: float, resolution: int, rule: str = "scalenet", spatial: str = "ceil"
) -> Scaling:
    """Depth and side as given, and the width whose MACs are nearest to those asked for; it may be below 1."""

    def at(step: int) -> Scaling:
        return Scaling(depth, step * PRECISION, resolution, rule, spatial)

    return _nearest(network, macs, at, 1, round(WIDEST / PRECISION))


def _nearest(network: Blueprint, macs: float, at: Callable[[int], Scaling], low: int, high: int) -> Scaling:
    """By bisection: cost rises with the step."""

    def costs(step: int) -> int:
        return int(scaled_macs([network], [at(step)])[0, 0])

    if costs(high) < macs:
        raise BudgetError(f"no scaling up to {at(high)} gives {macs:g} MACs, the largest gives {costs(high):g}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if costs(middle) < macs else (low, middle)
    return at(min((low, high), key=lambda step: abs(costs(step) - macs)))


@lru_cache
def grid_cases(*, exact: bool = False) -> int:
    """Triples (depth, width, resolution) in 1.00, 1.01, ... 2.00 with |d w^2 r^2 - 2| <= 0.1.

    One triple lies exactly on the boundary, where floating point (the paper's count) loses it.
    """
    if exact:
        h = np.arange(100, 201)
        return int((np.abs(h[:, None, None] * h[:, None] ** 2 * h**2 - 2 * 10**10) <= 10**9).sum())
    x = np.linspace(1, 2, 101)
    return int((np.abs(x[:, None, None] * x[:, None] ** 2 * x**2 - 2) <= 0.1).sum())
