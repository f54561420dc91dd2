"""Sandwich rule: the largest network learns from labels, sampled ones and the smallest from the largest.

Paper: Yu & Huang, "Universally Slimmable Networks", arXiv 1903.05134; as in AttentiveNAS, appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import InputError
from ..space import Space
from .extremes import extremes
from .step import Draw, SampledPath, Sampler, Step
from .uniform import Uniform


@dataclass(frozen=True)
class Sandwich:
    """Trains the largest network, `n` draws of another sampler and the smallest network at every step.

    Gradients are summed; only the largest network is regularised.
    """

    n: int = 2
    between: Sampler = field(default_factory=Uniform)  # draws the networks between the extremes

    def __post_init__(self) -> None:
        if self.n < 0:
            raise InputError(f"sandwich: n, the number of sampled networks, must not be negative, got {self.n}")

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw the paths of one step; the largest comes first, because it teaches the others."""
        smallest, largest = extremes(space)
        sampled = [path.arch for _ in range(self.n) for path in self.between(space, draw).paths]
        pupils = [SampledPath(arch, "teacher") for arch in (*sampled, smallest)]
        return Step((SampledPath(largest, regularise=True), *pupils), reduction="sum")
