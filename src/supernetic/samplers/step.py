"""What a sampler is given and what it returns: `sampler(space, Draw) -> Step`, a few `SampledPath`s and one update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np

from ..costs.table import LayerCost
from ..space import Arch, Archs, Space

Score = Callable[[Sequence[Arch]], Sequence[float]]


def no_score(archs: Sequence[Arch]) -> list[float]:
    """Score all architectures 0, for draws without a batch."""
    return [0.0] * len(archs)


class Draw(NamedTuple):
    """What a sampler may use to draw a step.

    Args:
        rng: The source of randomness.
        step: Number of the step.
        score: Minus the loss of architectures on the batch of this step: higher is better.
        layer_cost: Latencies of layers, for samplers at a latency.
    """

    rng: np.random.Generator
    step: int = 0
    score: Score = no_score
    layer_cost: LayerCost | None = None


class SampledPath(NamedTuple):
    """One forward and backward pass.

    The target is the label, or the detached answer of the last path before it that learned from labels. Only a path
    that may `regularise` gets the recipe's dropout and drop-connect. Its gradient is multiplied by `weight`.
    """

    arch: Arch
    target: Literal["label", "teacher"] = "label"
    regularise: bool = False
    weight: float = 1.0


class Step(NamedTuple):
    """The paths whose gradients make one update.

    They share a batch unless `fresh_batch`. Gradients are averaged or summed over the paths. With `average_by_use`,
    weights that only some of the paths use get the mean over those paths instead of the sum, so that options that are
    used more often do not learn faster.
    """

    paths: tuple[SampledPath, ...]
    fresh_batch: bool = False
    reduction: Literal["mean", "sum"] = "mean"
    average_by_use: bool = False


class Sampler(Protocol):
    """Draws the paths of each training step.

    A sampler is a frozen dataclass, and draws the same number of paths and batches at every step.
    """

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw the paths of one step."""


class WithLayerCost(NamedTuple):
    """A sampler together with latencies of layers, for budgets in milliseconds."""

    sampler: Sampler
    layer_cost: LayerCost

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw a step of the sampler."""
        return self.sampler(space, draw._replace(layer_cost=self.layer_cost))


def batches_per_step(sampler: Sampler, space: Space) -> int:
    """Return how many batches each step of a sampler takes."""
    step = sampler(space, Draw(np.random.default_rng(0)))
    return len(step.paths) if step.fresh_batch else 1


def one(archs: Archs) -> Arch:
    """Return the first row as an architecture."""
    return tuple(archs[0].tolist())
