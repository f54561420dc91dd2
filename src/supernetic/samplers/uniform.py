"""Uniform single path: every step trains one network, all equally likely.

Paper: Guo et al., "Single Path One-Shot", arXiv 1904.00420; "SCARLET-NAS", equation 1.
Differences: uniform over encodings; `depth_uniform` draws choice by choice. In the paper's space, without depths, the
two are the same. The budget window of the released code is the sampler `Budgeted`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..space import Space
from .step import Draw, SampledPath, Step, one


@dataclass(frozen=True)
class Uniform:
    """Trains one random network per step."""

    depth_uniform: bool = False  # draw choice by choice; otherwise deep networks are likelier: there are more of them

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw one network."""
        return Step((SampledPath(one(space.sample(draw.rng, 1, depth_uniform=self.depth_uniform)), regularise=True),))
