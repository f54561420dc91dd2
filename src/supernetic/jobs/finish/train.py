"""The step `train` of a finish: the network trained further, to the end of the minutes or for some steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ...progress import Event, OnEvent
from ...runs.directory import Run
from ...runs.files import NETWORK_TRAININGS, TRAINED_NETWORKS, WEIGHTS
from ...runs.records import TRAINED, NetworkRecord, networks_text
from ..compare.comparison import WHOLE, NetworkTrainings
from ..compare.last_training import LastTraining, may_train_together
from ..compare.train import numbers
from ..speed import step_seconds, together_seconds
from ..time_plan import TRAIN, rescale_recipe
from .plan import FinishPlan
from .subject import Subject

if TYPE_CHECKING:
    from ...networks.pool import Trained

START_S = 4.0  # until processes that train together are at work
TIMED_S = 2.0  # for which they are timed
TIMED_SHARE, LONGEST_TIMED_S = 0.02, 5.0  # of the training: for so long one process is timed, on a machine that is busy


@dataclass
class FurtherTraining:
    """A network that is trained further, part by part.

    Args:
        subject: The network.
        trainings: How it is trained; the seed differs from part to part.
        plan: For how long.
        entropy: Numbers that the seeds are made of.
        goes_on: Whether the learning rate begins where that of one long training would be, and a teacher's answers
            count as before; else the recipe says where it begins, and labels alone count.
        send: Receives progress.
    """

    subject: Subject
    trainings: NetworkTrainings
    plan: FinishPlan
    entropy: tuple[int, ...]
    goes_on: bool
    send: OnEvent
    done: list[Trained] = field(default_factory=list)  # those that did not diverge
    steps: int = 0  # of these
    parts: int = 0  # that were begun
    earlier: float = 0.0  # seconds of training before an interruption

    def __post_init__(self) -> None:
        self.name = self.subject.record.name
        self.blueprint = self.subject.network.blueprint
        self.begin = perf_counter()
        self.measured_pace: float | None = None

    def run(self, run: Run) -> None:
        """Train, and write `trained.json`: the record of the network then; no record if every training diverged.

        Args:
            run: The directory of the finish, which keeps decisions by the clock.
        """
        if self.plan.steps:
            self._train(run, {self.name: self.plan.steps}, self.plan.workers, WHOLE)
        else:
            self._to_the_end(run)
        run.write(TRAINED_NETWORKS, networks_text(self._records()))

    def _to_the_end(self, run: Run) -> None:
        last = LastTraining(
            self.plan.workers,
            self.plan.seconds,
            START_S,
            self.trainings.recipe.schedule == "linear",
            left=lambda: self.plan.left(perf_counter() - self.begin + self.earlier),
            pace=lambda _: self._pace(),
            train=lambda steps, processes, part: self._train(run, steps, processes, part),
        )
        last.run(run, [self.name], self._together)

    def _train(self, run: Run, steps: Mapping[str, int], processes: int, part: tuple[float, float]) -> None:
        from ...networks.pool import train_all, training_seconds

        number, begin = steps[self.name], perf_counter()
        start = self.done[-1].path / WEIGHTS if self.done else self.subject.weights
        if self.goes_on and self.parts == 0:
            self._lower_rate(round(number / part[1]))
        seed = int(np.random.SeedSequence([*self.entropy, self.parts]).generate_state(1)[0])
        targets = self.subject.targets if self.goes_on else None  # with a recipe of the user's, labels alone count
        made = replace(self.trainings, seed=seed)
        task = made.training(self.blueprint, number, start, processes, part, targets=targets)
        (trained,) = train_all(
            [task],
            self.subject.run / NETWORK_TRAININGS,
            workers=1,
            progress=lambda _, done, total: self.send(Event(TRAIN, item=self.name, done=done, total=total)),
        )
        self.parts += 1
        self.earlier += max(0.0, training_seconds(trained.path)[0] - (perf_counter() - begin))
        if trained.reason:  # the weights from before stay
            self.send(Event(TRAIN, f"{self.name} could not be trained any further: {trained.reason}"))
        else:
            self.done.append(trained)
            self.steps += number

    def _lower_rate(self, steps: int) -> None:
        """Begin with the learning rate that one training of all steps, the earlier ones included, would have here."""
        from ...training.schedule import plan_of

        behind, made = self.subject.steps or 0, self.trainings
        whole = rescale_recipe(made.recipe, made.schedule, behind + steps)
        rate = plan_of(whole, 1).lr(behind)
        self.trainings = replace(made, recipe=replace(made.recipe, lr=max(rate, made.recipe.lr_end)))

    def _pace(self) -> float:
        """Seconds per step: of the part before, else measured."""
        from ...networks.pool import training_pace

        if self.done:
            return training_pace(self.done[-1].path)
        if self.measured_pace is None:
            made, seconds = self.trainings, min(LONGEST_TIMED_S, max(TIMED_S / 4, TIMED_SHARE * self.plan.seconds))
            self.measured_pace = step_seconds([self.blueprint], made.recipe, 1, seconds, hardware=made.hardware)[0]
        return self.measured_pace

    def _together(self) -> float:
        """Seconds per step if all processes train the network together; infinite if that is not worth while."""
        workers, made = self.plan.workers, self.trainings
        hardware = made.hardware.with_processes(workers)
        if not may_train_together(workers, self.plan.seconds, made.recipe.batch_size, hardware):
            return inf
        return together_seconds(self.blueprint, made.recipe, hardware, TIMED_S)

    def _records(self) -> list[NetworkRecord]:
        if not self.done:
            return []
        before = self.subject.record
        new = replace(
            before,
            key=self.done[-1].key,
            trained=numbers(self.done[-1].metrics),
            steps=(self.subject.steps or 0) + self.steps,
            first_key=before.first_key or before.key,
            first=before.first or before.trained,
            keys=(*before.trainings, *(trained.key for trained in self.done)),
            weights=TRAINED if before.weights else "",
        )
        return [new]
