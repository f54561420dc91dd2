"""How many of the networks that training draws lie near each stage's budget.

Paper: "ScaleNet", Fig. 1: 750,000 paths drawn hierarchically have a mode at each budget; drawn uniformly from all
factors together they form one bell curve, which hardly covers the first and the last stage.
Differences: the paper shows curves; we also state the share within a quarter of each budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..costs.table import Ints, costs_of
from ..errors import InputError, UnknownNameError
from ..samplers.hierarchical import Hierarchical
from ..space import Archs, SequentialSpace, Space
from ..spaces.scaled import SCALING_GENES, Scaled, Strategies
from .macs import blueprints_of, scaled_macs

WAYS = ("size", "uniform", "plain")
N_PATHS = 30_000
BUDGET_TOLERANCE = 0.25  # share of a budget, on either side
MIN_NETWORKS_FOR_TABLE = 20_000  # for fewer, the table of an automaton is not worth building


@dataclass(frozen=True, eq=False)
class Sampling:
    """The MACs of the networks that one way of sampling draws."""

    way: str  # one of `WAYS`
    macs: Ints

    def masses(self, targets: Sequence[float], near: float = BUDGET_TOLERANCE) -> tuple[float, ...]:
        """Return the share of the networks near each budget.

        Args:
            targets: The budgets in MACs.
            near: Share of a budget that a network may be off.
        """
        return tuple(float(np.mean(np.abs(self.macs / t - 1) <= near)) for t in targets)


def sampling(
    space: Space, way: Literal["size", "uniform", "plain"] = "size", n: int = N_PATHS, *, seed: int = 0
) -> Sampling:
    """Draw networks of a base space times a scaling space, and cost them.

    Args:
        space: The base space times the scaling space.
        way: "size" and "uniform" draw a stage first, by that prior; "plain" draws depth, width and resolution each from
            the values of all stages together, as sampling without stages would.
        n: How many networks to draw.
        seed: Of the draw.
    """
    if way not in WAYS:
        raise UnknownNameError("way of sampling", way, WAYS)
    if not isinstance(space, Scaled):
        raise InputError(f"the space must be a base space times a scaling space, got {space.name}")
    if n < 1:
        raise InputError(f"the number of paths must be at least 1, got {n}")
    rng = np.random.default_rng(seed)
    if way == "plain":
        flat = space.base * without_stages(space.strategies)
        return Sampling(way, macs_of(flat, flat.sample(rng, n, depth_uniform=True)))
    return Sampling(way, macs_of(space, Hierarchical(way).sample(space, rng, n)))


def without_stages(strategies: Strategies) -> Strategies:
    """Return strategies of a single stage with the values of all stages."""
    factors = sorted({f for stage in strategies.factors for f in stage})
    pixels = sorted({p for stage in strategies.pixels for p in stage})
    return Strategies((tuple(factors),), (tuple(pixels),), strategies.rule, strategies.spatial)


def macs_of(space: Scaled, archs: Archs) -> Ints:
    """Return the MACs of each row, by table if the space is an automaton and the rows are many enough."""
    if isinstance(space, SequentialSpace) and len(archs) > MIN_NETWORKS_FOR_TABLE:
        return costs_of(space, archs)
    networks = blueprints_of(space.base, archs[:, SCALING_GENES:])
    scalings = [space.strategies[tuple(genes)] for genes in archs[:, :SCALING_GENES].tolist()]
    costs = [scaled_macs([n], [s])[0, 0] for n, s in zip(networks, scalings, strict=True)]
    return np.array(costs, dtype=np.int64)
