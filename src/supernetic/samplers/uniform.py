"""Uniform single path: every step trains one network, all equally likely.

Paper: Guo et al., "Single Path One-Shot", arXiv 1904.00420; SCARLET-NAS (paper 004), equation 1.
Differences: uniform over encodings, where the paper's spaces have as many at every depth; `depth_uniform` draws choice
by choice. The released code's budget window is the sampler `Budgeted`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..space import Space
from .step import Draw, SampledPath, Step, one


@dataclass(frozen=True)
class Uniform:
    """One path per step."""

    depth_uniform: bool = False  # draw choice by choice; otherwise deep networks are likelier: there are more of them

    def __call__(self, space: Space, draw: Draw) -> Step:
        """One network."""
        return Step((SampledPath(one(space.sample(draw.rng, 1, depth_uniform=self.depth_uniform)), regularise=True),))
