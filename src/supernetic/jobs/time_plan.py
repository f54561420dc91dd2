"""What the time plans of all jobs share: reading them again, parts of the time, recipes of another length."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..errors import InputError
from ..result import Result

if TYPE_CHECKING:
    from ..training.recipe import Recipe
    from ..training.schedule import Plan as Schedule

# What was measured for it: docs/findings/recipes.md.
NETWORK_RECIPE = {
    "title": "default for finished networks",
    "source": "ours: for small networks and short trainings",
    "length": "30 epochs",
    "batch_size": 128,
    "augment": "light",
    "lr": 0.4,
    "nesterov": True,
    "weight_decay": 5e-4,
    "schedule": "linear",
    "warmup": "2 epochs",
    "label_smoothing": 0.1,
    "clip_norm": 5.0,
}
FINE_TUNING = {
    "title": "short fine-tuning",
    "source": "ours: a few epochs on a CPU",
    "length": "10 epochs",
    "batch_size": 32,
    "augment": "flip",
    "lr": 0.001,
    "nesterov": True,
    "weight_decay": 1e-5,
    "warmup": "0.2 epochs",
    "label_smoothing": 0.1,
    "fixed_bn": True,
}  # of pretrained networks
TRAIN, SEARCH, COMPARE, FINISH = "train", "search", "compare", "finish"  # names of the steps in a run's timings
TEACH = "teach"  # a part of the step `finish`
TEST, EXPORT = "test", "export"
PLANNED_SHARE = 0.97  # of the time
EXPORT_S = 4.0  # seconds per model: files, ONNX, int8, latency and reading it again
HEAD_S = 6.0  # seconds for fitting a new head to features
REPORT_S = 6.0  # seconds for the rest: libraries that export needs, report


class TimePlan(Result, ABC):
    """How much a job does: base of frozen dataclasses whose numbers are counts and seconds.

    `run.toml` keeps the plan, and a run that goes on follows the one it has.
    """

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    @abstractmethod
    def to_settings(self) -> dict[str, Any]:
        """A table for `run.toml`."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The plan that `to_settings` wrote; a `ValueError` names the first entry that no plan can have."""
        from pydantic import TypeAdapter, ValidationError

        try:
            plan: Self = TypeAdapter(cls).validate_python(settings)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        for name, value in vars(plan).items():
            if not all(0 <= number < float("inf") for number in _numbers(value)):
                raise ValueError(f"{name} must be 0 or more and finite, got {value}")
        return plan


def _numbers(value: Any) -> Iterable[float]:
    values = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else (value,)
    return (v for v in values if isinstance(v, int | float))


def require_time(
    minutes: float,
    fixed: float,
    pace: Mapping[str, float],
    least: Mapping[str, int],
    what: str,
    instead: str = "choose a smaller --space or a smaller --image-size",
) -> float:
    """Seconds that are left for all parts together; an error if not even the least of each fits.

    Args:
        minutes: What the user gives.
        fixed: Seconds that are spent whatever the plan is.
        pace: Seconds for one unit of each part.
        least: Units of each part below which the result is noise.
        what: These units in words.
        instead: What the user can change other than the time.
    """
    left = PLANNED_SHARE * 60 * minutes - fixed
    needed = sum(least[k] * pace[k] for k in pace)
    if left < needed:
        enough = ceil((needed + fixed) / PLANNED_SHARE / 60 * 2) / 2
        raise InputError(
            f"--minutes {minutes:g} is too short for {what}: it takes about {enough:g}; give as many, or {instead}"
        )
    return left


def fit_parts(
    left: float,
    shares: Mapping[str, int],
    pace: Mapping[str, float],
    least: Mapping[str, int],
    most: Mapping[str, int],
) -> dict[str, int]:
    """Units of each part by its share of the time, none below its least or above its most; others share the rest.

    Args:
        left: Seconds for all parts together.
        shares: Of the time, by part.
        pace: Seconds for one unit of each part.
        least: Units below which the result is noise.
        most: Units above which more does not help.
    """
    steps = {k: most[k] for k in pace if not pace[k]}
    open_parts = {k for k in pace if pace[k]}
    while open_parts:
        share = left / sum(shares[k] for k in open_parts)
        units = {k: int(share * shares[k] / pace[k]) for k in open_parts}
        # those that need more than their share come first: what others could spare is needed there
        limited = {k: least[k] for k in open_parts if units[k] < least[k]} or {
            k: most[k] for k in open_parts if units[k] > most[k]
        }
        settled = limited or units
        steps |= settled
        left -= sum(n * pace[k] for k, n in settled.items())
        open_parts -= settled.keys()
    return steps


def rescale_recipe(recipe: Recipe, schedule: Schedule, steps: int) -> Recipe:
    """The recipe with another number of steps, its warm-up and decays in proportion; `schedule` is its own."""
    factor = steps / schedule.steps

    def text(duration: float) -> str:
        return f"{max(1, round(duration * factor))} steps" if duration else "0 steps"

    return dataclasses.replace(
        recipe,
        length=f"{steps} steps",
        warmup=text(schedule.warmup),
        decay_every=text(schedule.decay_every) if recipe.decay_every else "",
        decay_at=tuple(text(at) for at in schedule.decay_at),
    )
