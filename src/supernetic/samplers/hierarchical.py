"""Hierarchical sampling: a stage of scaling first, then everything else inside it.

Paper: "ScaleNet", hierarchical sampling strategy, as in its released code: a stage with probability proportional to its
number of width factors, then factors and base network uniform choice by choice.
Differences: the formula of the paper is not available to us. With the released prior the unscaled stage gets one draw
in 17, so `prior="uniform"` (present but switched off there) is offered too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import InputError, UnknownNameError
from ..space import Archs, Space
from .step import Draw, SampledPath, Step, one

STAGE = "scale.stage"  # the choice of a scaled space that says how large a network is


@dataclass(frozen=True)
class Hierarchical:
    """Trains one path per step, whose scaling stage is drawn first.

    Args:
        prior: Of the stages: "size" by their number of width factors, or "uniform".
        stage: Name of the choice that is drawn first.
        size: Name of its child whose allowed options are the sizes of the stages.
    """

    prior: Literal["size", "uniform"] = "size"
    stage: str = STAGE
    size: str = "scale.width"

    def __post_init__(self) -> None:
        if self.prior not in ("size", "uniform"):
            raise UnknownNameError("stage prior", self.prior, ("size", "uniform"))

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw one network."""
        return Step((SampledPath(one(self.sample(space, draw.rng, 1)), regularise=True),))

    def sample(self, space: Space, rng: np.random.Generator, n: int) -> Archs:
        """Draw `n` networks."""
        names = [c.name for c in space.choices]
        if self.stage not in names and self.stage == STAGE:
            rule = "hierarchical draws a scaling stage first, so it is for scaled spaces such as scalenet"
            raise InputError(f"{rule}: {space.name} has no stages of scaling")
        for name in (self.stage, self.size):
            if name not in names:
                raise UnknownNameError(f"choice of {space.name}", name, names)
        stage, counts = names.index(self.stage), space.choices[names.index(self.size)].allowed
        archs = space.sample(rng, n, depth_uniform=True)
        if self.prior == "uniform":
            return archs
        archs[:, stage] = rng.choice(len(counts), size=n, p=np.array(counts) / sum(counts))
        for i, c in enumerate(space.choices):
            if c.parent == stage:
                archs[:, i] = rng.integers(np.array(c.allowed)[archs[:, stage]])
        return archs
