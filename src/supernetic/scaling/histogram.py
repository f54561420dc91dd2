"""How many of the networks that training draws lie near each stage's budget.

Paper: "ScaleNet" (paper 003), Fig. 1: 750,000 paths drawn hierarchically have a mode at each budget; drawn uniformly
from all factors together they are one bell that leaves the first and the last stage out.
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
from ..spaces.scaled import GENES, Scaled, Strategies
from .macs import blueprints_of, scaled_macs

WAYS = ("size", "uniform", "plain")
PATHS = 30_000
NEAR = 0.25  # of a budget, on either side
MANY = 20_000  # networks above which an automaton's table is worth building


@dataclass(frozen=True, eq=False)
class Sampling:
    """The MACs of what one way of sampling draws."""

    way: str
    macs: Ints

    def masses(self, targets: Sequence[float], near: float = NEAR) -> tuple[float, ...]:
        """Share of the networks near each budget; the rest lies between them or outside."""
        return tuple(float(np.mean(np.abs(self.macs / t - 1) <= near)) for t in targets)


def sampling(
    space: Space, way: Literal["size", "uniform", "plain"] = "size", n: int = PATHS, *, seed: int = 0
) -> Sampling:
    """`n` networks of a base space times a scaling space.

    `size` and `uniform` draw a stage first, by that prior; `plain` takes depth, width and side each from all stages'
    values together, as sampling without stages would.
    """
    if way not in WAYS:
        raise UnknownNameError("way of sampling", way, WAYS)
    if not isinstance(space, Scaled):
        raise InputError(f"only a base space times a scaling space has stages, {space.name} is none")
    if n < 1:
        raise InputError(f"the number of paths must be at least 1, got {n}")
    rng = np.random.default_rng(seed)
    if way == "plain":
        flat = space.base * without_stages(space.strategies)
        return Sampling(way, macs_of(flat, flat.sample(rng, n, depth_uniform=True)))
    return Sampling(way, macs_of(space, Hierarchical(way).sample(space, rng, n)))


def without_stages(strategies: Strategies) -> Strategies:
    """The values of all stages as one."""
    factors = sorted({f for stage in strategies.factors for f in stage})
    pixels = sorted({p for stage in strategies.pixels for p in stage})
    return Strategies((tuple(factors),), (tuple(pixels),), strategies.rule, strategies.spatial)


def macs_of(space: Scaled, archs: Archs) -> Ints:
    """MACs of each row, by an automaton's table where there is one and enough rows to build it for."""
    if isinstance(space, SequentialSpace) and len(archs) > MANY:
        return costs_of(space, archs)
    networks = blueprints_of(space.base, archs[:, GENES:])
    scalings = [space.strategies[tuple(genes)] for genes in archs[:, :GENES].tolist()]
    costs = [scaled_macs([n], [s])[0, 0] for n, s in zip(networks, scalings, strict=True)]
    return np.array(costs, dtype=np.int64)
