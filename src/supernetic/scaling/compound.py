"""Standard ways to scale a network to a cost: compound scaling, and scaling the width alone.

Paper: Tan & Le, "EfficientNet", arXiv 1905.11946: depth, width and resolution grow as 1.2^x, 1.1^x and 1.15^x.
Differences: x is chosen to give the target MACs, and need not be a whole number. Widths are rounded by the rule of the
searched family, so that a comparison is between two strategies and not between two roundings.
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
MAX_EXPONENT = 12.0  # 4096 times the cost
GRID_STEP = 0.002  # of exponents and of width factors
MAX_WIDTH_FACTOR = 8.0


def compound(network: Blueprint, macs: float, rule: str = "scalenet", spatial: str = "ceil") -> Scaling:
    """Return the compound scaling whose MACs are nearest to a target.

    Args:
        network: The base network.
        macs: The target.
        rule: The scaling rule (`strategy.RULES`).
        spatial: How resolutions behind strided convolutions are rounded.
    """

    def at(step: int) -> Scaling:
        x = step * GRID_STEP
        return Scaling(ALPHA**x, BETA**x, GAMMA**x, rule, spatial)

    return _nearest(network, macs, at, 0, round(MAX_EXPONENT / GRID_STEP))


def at_width(
    network: Blueprint, macs: float, depth: float, resolution: int, rule: str = "scalenet", spatial: str = "ceil"
) -> Scaling:
    """Return the scaling of a given depth and resolution whose MACs are nearest to a target.

    Args:
        network: The base network.
        macs: The target.
        depth: The depth factor.
        resolution: The image resolution in pixels.
        rule: The scaling rule (`strategy.RULES`).
        spatial: How resolutions behind strided convolutions are rounded.

    Returns:
        A scaling whose width factor may be below 1.
    """

    def at(step: int) -> Scaling:
        return Scaling(depth, step * GRID_STEP, resolution, rule, spatial)

    return _nearest(network, macs, at, 1, round(MAX_WIDTH_FACTOR / GRID_STEP))


def _nearest(network: Blueprint, macs: float, at: Callable[[int], Scaling], low: int, high: int) -> Scaling:
    """Find the nearest step by bisection: cost rises with the step."""

    def costs(step: int) -> int:
        return int(scaled_macs([network], [at(step)])[0, 0])

    if costs(high) < macs:
        raise BudgetError(f"the MACs to scale to must be at most {costs(high):g}, those of {at(high)}, got {macs:g}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if costs(middle) < macs else (low, middle)
    return at(min((low, high), key=lambda step: abs(costs(step) - macs)))


@lru_cache
def grid_cases(*, exact: bool = False) -> int:
    """Count the triples (depth, width, resolution) in 1.00, 1.01, ... 2.00 with |d w^2 r^2 - 2| <= 0.1.

    One triple lies exactly on the boundary, where floating point (the paper's count) loses it.
    """
    if exact:
        h = np.arange(100, 201)
        return int((np.abs(h[:, None, None] * h[:, None] ** 2 * h**2 - 2 * 10**10) <= 10**9).sum())
    x = np.linspace(1, 2, 101)
    return int((np.abs(x[:, None, None] * x[:, None] ** 2 * x**2 - 2) <= 0.1).sum())
