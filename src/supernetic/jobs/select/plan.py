"""What will be trained and how long it may take, from steps that are timed now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from ...datasets import Dataset
from ...families import CandidateModel
from ...hardware import CPU, Hardware
from ...networks.training import one_thread, training
from ...result import Result
from ...selection.subsets import SubsetSchedule, take_subset
from ...training.recipe import Recipe
from ...training.schedule import plan_of
from .settled import SettledRecipe
from .trainings import as_wanted, trained_images

if TYPE_CHECKING:
    from .result import SelectResult

TIMED_BATCHES = (8, 64)  # images
TIMED_STEPS = 5  # of each, after one that is not timed; the median counts, as other work slows single steps
WORKER_SLOWDOWN = 1.15  # workers beside one another are slower than one alone
FORWARD_SHARE = 0.35  # of a training step's time per image
START_S = 0.4  # of a training before its first step and after its last
PROCESS_START_S = 10.0  # in which each of several processes that share a training loads torch, for every training
WORKER_START_S = 15.0  # in which workers load torch, once for learning rates and once for the rest


@dataclass(frozen=True)
class Pace:
    """The time of a training step: a constant, and a part that grows with the batch, in seconds."""

    step: float
    image: float  # per image

    def seconds(self, settled: SettledRecipe, size: int, scored: int) -> float:
        """Of a whole training on a subset of `size` images, `scored` on others."""
        fitted, processes = settled.fitted(size), settled.processes
        steps = plan_of(fitted, max(1, trained_images(size) // fitted.batch_size)).steps
        start = START_S if processes == 1 else START_S + PROCESS_START_S
        share = self.image * fitted.batch_size / processes
        return start + steps * (self.step + share) + FORWARD_SHARE * self.image * scored


@dataclass(frozen=True)
class SelectPlan(Result):
    """Which subsets are trained on, and what had to be given up for that."""

    subsets: SubsetSchedule
    paces: Mapping[str, Pace]
    notes: tuple[str, ...]
    dry: SelectResult  # the same as the result of a dry run

    def lines(self) -> list[str]:
        """A summary for people."""
        return self.dry.lines()


def time_steps(
    models: Sequence[CandidateModel],
    dataset: Dataset,
    recipe: Recipe,
    subsets: SubsetSchedule,
    hardware: Hardware = CPU,
) -> dict[str, Pace]:
    """Time a few training steps of every model.

    Args:
        models: The models.
        dataset: The images.
        recipe: Training settings.
        subsets: The schedule, whose largest subset is used.
        hardware: Where they are trained.

    Returns:
        The pace of each model by its name.
    """
    data = take_subset(dataset, subsets.sizes[-1], 0, subsets.on, stratified=subsets.stratified)
    paces = {}
    with one_thread():
        for model in models:
            few, many = (_step(model, data, recipe, batch, hardware) for batch in TIMED_BATCHES)
            image = max(1e-9, (many - few) / (TIMED_BATCHES[1] - TIMED_BATCHES[0]))
            paces[model.name] = Pace(max(0.0, few - image * TIMED_BATCHES[0]), image)
    return paces


def _step(model: CandidateModel, data: Dataset, recipe: Recipe, batch: int, hardware: Hardware) -> float:
    """Seconds."""
    short = replace(recipe, batch_size=batch, length=f"{1 + TIMED_STEPS} steps", warmup="0 steps")
    seconds = []
    began = perf_counter()
    steps = training(model.build(0), model.resolution, as_wanted(data, model), short, 0, None, hardware)
    for _ in islice(steps, 1 + TIMED_STEPS):
        seconds.append(perf_counter() - began)
        began = perf_counter()
    return median(seconds[1:])


def estimate(
    subsets: SubsetSchedule, paces: Mapping[str, Pace], settled: SettledRecipe, scored: int, workers: int
) -> float:
    """Estimate how long all trainings take, those that choose learning rates included.

    Args:
        subsets: Sizes and seeds.
        paces: By model.
        settled: Training settings, with the learning rates that are tried.
        scored: Images that each model is scored on.
        workers: Trainings at a time.

    Returns:
        Seconds.
    """
    total = longest = 0.0
    for pace in paces.values():
        for size, seeds in zip(subsets.sizes, subsets.seeds, strict=True):
            extra = len(settled.rates) - 1 if size == subsets.middle else 0
            one = pace.seconds(settled, size, scored)
            total += one * (seeds + extra)
            longest = max(longest, one)
    return WORKER_START_S + WORKER_SLOWDOWN * max(total / workers, longest)
