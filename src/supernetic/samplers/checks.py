"""The contract of samplers, for `supernetic.testing`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..space import Arch, Space
from .step import Draw, Sampler, Step


def contract_violations(sampler: Sampler, space: Space, *, steps: int = 20, seed: int = 0) -> Iterator[str]:
    """Yield one sentence for each violation of the contract of samplers.

    Args:
        sampler: The sampler to check.
        space: The space it samples from.
        steps: How many steps to draw.
        seed: Of the draws.
    """
    if not getattr(getattr(sampler, "__dataclass_params__", None), "frozen", False):
        yield f"{sampler!r} must be a frozen dataclass: its fields are its settings"

    def score(archs: Sequence[Arch]) -> list[float]:
        return [float(sum(arch) % 7) for arch in archs]

    drawn: list[Step] = []
    for step in range(steps):
        first, again = (sampler(space, Draw(np.random.default_rng([seed, step]), step, score)) for _ in range(2))
        if first != again:
            yield f"step {step} must be the same when it is drawn again with the same seed"
        yield from _step_violations(first, space)
        drawn.append(first)
    if len({(len(s.paths), s.fresh_batch) for s in drawn}) > 1:
        yield "the number of paths and batches must be the same at every step"


def _step_violations(step: Step, space: Space) -> Iterator[str]:
    if not step.paths:
        yield "a step must have at least one path"
    taught = False
    for path in step.paths:
        space.check(path.arch)
        if not all(type(gene) is int for gene in path.arch):
            yield f"genes must be plain integers, got {path.arch!r}"
        if path.target not in ("label", "teacher"):
            yield f"the target of a path must be label or teacher, got {path.target!r}"
        if path.target == "teacher" and not taught:
            yield "a path that learns from a teacher must follow one that learns from labels"
        taught = taught or path.target == "label"
    if step.reduction not in ("mean", "sum"):
        yield f"the reduction of a step must be mean or sum, got {step.reduction!r}"
