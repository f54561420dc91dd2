"""The trainings of a choice: first those that choose learning rates, then the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...families import CandidateModel
from ...hardware import CPU, Hardware
from ...progress import Event, OnEvent
from ...selection.subsets import SubsetSchedule
from .settled import SettledRecipe
from .trainings import Outcome, SubsetTraining, read_outcome, train_subsets


@dataclass(frozen=True)
class Queue:
    """All trainings of a choice.

    Args:
        models: To compare.
        settled: The recipe, with learning rates to try and the rule for batches.
        subsets: Sizes and seeds.
        loading: Arguments of `datasets.load`.
        data: The data's fingerprint.
        workers: Trainings at a time.
        send: Receives progress.
        hardware: Where models are trained.
    """

    models: Sequence[CandidateModel]
    settled: SettledRecipe
    subsets: SubsetSchedule
    loading: Mapping[str, Any]
    data: str
    workers: int
    send: OnEvent
    hardware: Hardware = CPU

    def choose_rates(self, directory: Path) -> dict[str, float]:
        """The learning rate of each model: the best calibrated one on the middle subset, or the only one there is."""
        rates = {m.name: self.settled.rates_of(m) for m in self.models}
        trials = [
            self._training(m, self.subsets.middle, 0, rates[m.name][i])
            for i in range(len(self.settled.rates))
            for m in self.models
            if len(rates[m.name]) > 1
        ]
        outcomes = self._train(trials, directory, "rates")
        return {m.name: _best_rate(m, trials, outcomes, rates[m.name]) for m in self.models}

    def trainings(self, rates: Mapping[str, float]) -> list[SubsetTraining]:
        """All trainings, with the chosen learning rates."""
        return [
            self._training(m, size, seed, rates[m.name])
            for size, seed in self.subsets.subset_trainings()
            for m in self.models
        ]

    def train(self, rates: Mapping[str, float], directory: Path) -> list[Outcome]:
        """What became of all trainings."""
        return self._train(self.trainings(rates), directory, "train")

    def outcomes(self, rates: Mapping[str, float], directory: Path) -> list[Outcome]:
        """The same, of trainings that are finished."""
        return [read_outcome(directory / t.key) for t in self.trainings(rates)]

    def _training(self, model: CandidateModel, size: int, seed: int, rate: float) -> SubsetTraining:
        recipe, processes = self.settled.fitted(size, rate), self.settled.processes
        on, stratified = self.subsets.on, self.subsets.stratified
        return SubsetTraining(
            model, recipe, size, seed, on, stratified, self.loading, self.data, processes,
            self.hardware.device, self.hardware.precision,
        )  # fmt: skip

    def _train(self, trainings: Sequence[SubsetTraining], directory: Path, task: str) -> list[Outcome]:
        def report(i: int, done: int, steps: int) -> None:
            self.send(Event(task, item=trainings[i].name, done=done, total=steps))

        return train_subsets(trainings, directory, self.workers, report)


def _best_rate(
    model: CandidateModel, trials: Sequence[SubsetTraining], outcomes: Sequence[Outcome], rates: Sequence[float]
) -> float:
    """By calibrated cross-entropy; the middle one if none of them converged, or was tried."""
    finished = [
        (o.calibration, t.recipe.lr) for t, o in zip(trials, outcomes, strict=True) if t.model is model and not o.reason
    ]
    return min(finished, default=(0.0, rates[len(rates) // 2]))[1]


def with_sizes(subsets: SubsetSchedule, sizes: Sequence[int], seeds: Sequence[int]) -> SubsetSchedule:
    """The same schedule with other sizes and seeds."""
    return replace(subsets, sizes=tuple(sizes), seeds=tuple(seeds))
