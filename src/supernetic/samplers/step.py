"""What a sampler is given and what it returns: `sampler(space, Draw) -> Step`, a few `SampledPath`s and one update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np

from ..costs.table import LayerCost
from ..space import Arch, Archs, Space

Score = Callable[[Sequence[Arch]], Sequence[float]]


def no_score(archs: Sequence[Arch]) -> list[float]:
    """A score for those who have no batch at hand: all architectures are alike."""
    return [0.0] * len(archs)


class Draw(NamedTuple):
    """What a draw may depend on. `score` is minus the loss on this step's batch: higher is better.

    Samplers at a latency budget need `layer_cost`. A sampler that compares candidates needs a `score`: see
    `supernetic.batch_score`.
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
    weights that only some of the paths use get the mean over those paths in place of their sum, so that often used
    options learn no faster than others.
    """

    paths: tuple[SampledPath, ...]
    fresh_batch: bool = False
    reduction: Literal["mean", "sum"] = "mean"
    average_by_use: bool = False


class Sampler(Protocol):
    """A frozen dataclass. The number of paths and batches is the same at every step."""

    def __call__(self, space: Space, draw: Draw) -> Step:
        """The paths of one step."""


class WithLayerCost(NamedTuple):
    """A sampler that knows the cost of layers, for budgets in milliseconds."""

    sampler: Sampler
    layer_cost: LayerCost

    def __call__(self, space: Space, draw: Draw) -> Step:
        """The sampler's own step."""
        return self.sampler(space, draw._replace(layer_cost=self.layer_cost))


def batches_per_step(sampler: Sampler, space: Space) -> int:
    """How many batches each step of a sampler takes."""
    step = sampler(space, Draw(np.random.default_rng(0)))
    return len(step.paths) if step.fresh_batch else 1


def one(archs: Archs) -> Arch:
    """The first row as an architecture."""
    return tuple(archs[0].tolist())
