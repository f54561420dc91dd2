"""The learning rate at each step: a function of the step alone, so that nothing has to be stored to resume."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi

from ..errors import InputError
from .recipe import Recipe, parse_duration


@dataclass(frozen=True)
class Plan:
    """A recipe's durations in steps."""

    recipe: Recipe
    steps: int
    batches: int = 1  # per step
    warmup: int = 0
    decay_every: float = 0.0
    decay_at: tuple[float, ...] = ()

    def lr(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        r = self.recipe
        if step < self.warmup:
            return r.lr * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        match r.schedule:
            case "cosine":
                return r.lr_end + (r.lr - r.lr_end) * (1 + cos(pi * done)) / 2
            case "linear":
                return r.lr + (r.lr_end - r.lr) * done
            case "step":
                times = sum(step >= at for at in self.decay_at)
                times += int(step // self.decay_every) if self.decay_every else 0
                return float(r.lr * r.decay_factor**times)
            case "constant":
                return r.lr


def plan_of(recipe: Recipe, batches_per_epoch: int, batches: int = 1) -> Plan:
    """The durations of a recipe in steps.

    Args:
        recipe: How to train.
        batches_per_epoch: Of the data.
        batches: How many of them each step takes.

    Returns:
        The plan.
    """

    def steps(what: str, text: str) -> float:
        number, unit = parse_duration(what, text)
        return number * batches_per_epoch / batches if unit == "epochs" else number

    total, warmup = round(steps("length", recipe.length)), round(steps("warmup", recipe.warmup))
    if total < 1:
        raise InputError(f"recipe: length must be at least one step, got {recipe.length!r}")
    if warmup > total:
        raise InputError(f"recipe: the warm-up of {warmup} steps is longer than the training of {total}")
    every = steps("decay_every", recipe.decay_every) if recipe.decay_every else 0.0
    return Plan(recipe, total, batches, warmup, every, tuple(steps("decay_at", text) for text in recipe.decay_at))
