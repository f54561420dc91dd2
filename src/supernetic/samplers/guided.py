"""Prior-guided rank loss: of two paths, the one that a prior ranks higher should not have the higher loss.

Paper: Dong et al., "Prior-Guided One-shot Neural Architecture Search", arXiv 2206.13329.
Differences: the hinge is on all pairs of a step's paths and without a margin. Its gradient is a factor on the loss of
each path, which is what a `SampledPath` carries: losses on this batch are taken first, without gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..costs import METRICS, costs_of
from ..errors import InputError, UnknownNameError
from ..space import Space
from .step import Draw, Sampler, Step
from .strict_fair import StrictFair


@dataclass(frozen=True)
class Guided:
    """The paths of another sampler, weighted so that pairs in the wrong order are pulled apart.

    Args:
        sampler: Draws the paths; at least two per step.
        prior: A cost; networks that cost more are expected to be better.
        strength: By how much of its loss a path may be weighted up or down, at most.
        ramp: Number of steps over which the strength grows from 0; 0 for full strength at once.
    """

    sampler: Sampler = field(default_factory=StrictFair)
    prior: str = "macs"
    strength: float = 0.5
    ramp: int = 0

    def __post_init__(self) -> None:
        if self.prior not in METRICS:
            raise UnknownNameError("prior of guided", self.prior, METRICS)
        if not 0 <= self.strength <= 1:
            raise InputError(f"guided: strength must lie in 0..1, got {self.strength}")
        if self.ramp < 0:
            raise InputError(f"guided: ramp must not be negative, got {self.ramp}")

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw paths; one that is worse than the prior says gets more weight, one that is better gets less."""
        step = self.sampler(space, draw)
        others = len(step.paths) - 1
        if not others:
            raise InputError("guided: the sampler must draw at least two paths a step, as strict_fair does, got 1")
        prior = costs_of(space, np.array([p.arch for p in step.paths], dtype=np.int8), self.prior)
        score = np.array(draw.score([p.arch for p in step.paths]))
        wrong = (prior[:, None] > prior) & (score[:, None] < score)
        pull = (wrong.sum(axis=1) - wrong.sum(axis=0)) * self.strength / others
        pull = pull * min(1.0, (draw.step + 1) / self.ramp) if self.ramp else pull
        weighted = [p._replace(weight=p.weight * (1 + x)) for p, x in zip(step.paths, pull.tolist(), strict=True)]
        return step._replace(paths=tuple(weighted))
