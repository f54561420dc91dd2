"""What will be trained and how long it may take, from steps that are timed now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median
from time import perf_counter

from ...datasets import Dataset
from ...errors import InputError
from ...families import CandidateModel
from ...networks.training import one_thread, training
from ...selection.subsets import SubsetSchedule, take_subset
from ...training.recipe import Recipe
from ...training.schedule import plan_of
from .trainings import RATES, recipe_for

BATCHES = (8, 64)  # sizes that are timed
TIMED = 5  # steps of each, after one that is not; their median counts, as other work on this machine slows it down
SLACK = 1.15  # workers beside one another are slower than one alone
SCORING = 0.35  # of a training step's time per image: the forward pass
START = 0.4  # seconds of a training before its first step and after its last
LOADING = 15.0  # seconds in which workers load torch, once for learning rates and once for the rest


@dataclass(frozen=True)
class Pace:
    """Seconds of a training step: so many, and so many per image."""

    step: float
    image: float

    def seconds(self, recipe: Recipe, size: int, scored: int) -> float:
        """Of a whole training on a rung of so many images."""
        fitted = recipe_for(recipe, size)
        trained = size - size // 10
        steps = plan_of(fitted, max(1, trained // fitted.batch_size)).steps
        return START + steps * (self.step + self.image * fitted.batch_size) + SCORING * self.image * scored


def time_steps(
    members: Sequence[CandidateModel], dataset: Dataset, recipe: Recipe, subsets: SubsetSchedule
) -> dict[str, Pace]:
    """The pace of every model, from a few steps each."""
    data = take_subset(dataset, subsets.sizes[-1], 0, subsets.on, stratified=subsets.stratified)
    found = {}
    with one_thread():
        for member in members:
            few, many = (_step(member, data, recipe, batch) for batch in BATCHES)
            image = max(1e-9, (many - few) / (BATCHES[1] - BATCHES[0]))
            found[member.name] = Pace(max(0.0, few - image * BATCHES[0]), image)
    return found


def _step(member: CandidateModel, data: Dataset, recipe: Recipe, batch: int) -> float:
    """Seconds."""
    short = replace(recipe, batch_size=batch, length=f"{1 + TIMED} steps", warmup="0 steps")
    seconds = []
    began = perf_counter()
    for _ in islice(training(member.build(0), member.resolution, data, short, 0), 1 + TIMED):
        seconds.append(perf_counter() - began)
        began = perf_counter()
    return median(seconds[1:])


def estimate(subsets: SubsetSchedule, paces: Mapping[str, Pace], recipe: Recipe, scored: int, workers: int) -> float:
    """Seconds that all trainings may take, those that choose learning rates included."""
    total = longest = 0.0
    for pace in paces.values():
        for size, seeds in zip(subsets.sizes, subsets.seeds, strict=True):
            extra = len(RATES) - 1 if size == subsets.middle else 0
            one = pace.seconds(recipe, size, scored)
            total += one * (seeds + extra)
            longest = max(longest, one)
    return LOADING + SLACK * max(total / workers, longest)


def require_minutes(minutes: float | None) -> None:
    """Refuse what is no time."""
    if minutes is not None and not 0 < minutes < float("inf"):
        raise InputError(f"minutes must be positive and finite, got {minutes:g}")
