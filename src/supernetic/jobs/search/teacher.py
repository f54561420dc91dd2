"""A teacher: a network beyond the limits that is trained first, so that the winner of the race learns from its answers.

It is a ResNet of several times the MACs, which nobody has to deploy. What was measured is in docs/findings/teacher.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from ...blueprint import Blueprint
from ...costs.macs import cost
from ...metrics import label
from ...objective import show_quantity
from ...progress import Event, OnEvent
from ...runs.directory import Run
from ...runs.files import NETWORK_TRAININGS, TARGETS, WEIGHTS
from ...runs.records import TeacherRecord
from ..compare.comparison import NetworkTrainings
from ..compare.last_training import LastTraining, may_train_together
from ..compare.train import numbers
from ..speed import step_seconds, together_seconds
from ..time_plan import FINISH, TEACH
from .plan import SearchPlan

if TYPE_CHECKING:
    from ...networks.pool import Trained

TIMES_MACS = 7.0  # of the student's, that a teacher may have
ANSWERS_SHARE = 0.9  # that the teacher's answers have in what the student learns from; labels have the rest
NAME = "teacher"


@dataclass(frozen=True)
class Teacher:
    """Trains a teacher and asks it.

    Args:
        trainings: How networks are trained.
        plan: Seconds for teacher and student.
        left: Seconds until testing must begin.
        send: Receives progress.
    """

    trainings: NetworkTrainings
    plan: SearchPlan
    left: Callable[[], float]
    send: OnEvent

    def teach(self, run: Run, student: Blueprint, expected: float) -> tuple[TeacherRecord | None, Path | None]:
        """Train a teacher, and keep what it says of the training images.

        Args:
            run: The run.
            student: The network that is to learn from it.
            expected: Of the metric that decides, what the student would reach without it.

        Returns:
            The teacher, None if its training failed; and where its answers are, None if they are of no use.
        """
        from ...networks.controls import resnet

        shape = student.resolution, student.classes, student.in_channels
        network = resnet(TIMES_MACS * cost(student).macs, *shape)
        trained, steps = self._train(run, network)
        if trained is None or trained.reason:
            self.send(Event(FINISH, f"there is no teacher: {trained.reason if trained else 'it was not trained'}"))
            return None, None
        knows, costs = trained.metrics[self.trainings.decides], cost(network)
        asked = knows > expected
        size = f"a ResNet of {show_quantity(costs.macs)} MACs"
        told = "the model learns from its answers" if asked else "no more than the model will: it is not asked"
        self.send(Event(FINISH, f"the teacher, {size}, has {label(self.trainings.decides)} {knows:.1f}: {told}"))
        record = TeacherRecord(
            "ResNet", costs.macs, costs.params, trained.key, steps, numbers(trained.metrics) or {}, asked
        )
        return record, self._answers(run, trained, network) if asked else None

    def _train(self, run: Run, network: Blueprint) -> tuple[Trained | None, int]:
        """Train the network for its share of the time; return its last training and all of its steps."""
        from ...networks.pool import train_all, training_pace

        plan, recipe, hardware = self.plan, self.trainings.recipe, self.trainings.hardware
        done: list[Trained] = []
        lengths: list[int] = []
        share = plan.teacher / (plan.teacher + plan.finish)
        student_needs = (1 - share) * self.left()

        def train(steps: Mapping[str, int], processes: int, part: tuple[float, float]) -> None:
            if done and done[-1].reason:  # it diverged before
                return
            start = done[-1].path / WEIGHTS if done else None
            length = steps[NAME]
            one = self.trainings.training(network, length, start, processes, part, len(done))
            report = partial(self._report, length)
            done.extend(train_all([one], run.path / NETWORK_TRAININGS, workers=1, progress=report))
            lengths.append(length)

        def pace(_: str) -> float:
            if done:
                return training_pace(done[-1].path)
            return step_seconds([network], recipe, 1, hardware=hardware)[0]

        def together() -> float:
            several = hardware.with_processes(plan.workers)
            if not may_train_together(plan.workers, plan.teacher, recipe.batch_size, several):
                return inf
            return together_seconds(network, recipe, several)

        LastTraining(
            plan.workers, plan.teacher, plan.start, recipe.schedule == "linear",
            left=lambda: max(1.0, self.left() - student_needs), pace=pace, train=train, name=TEACH,
        ).run(run, [NAME], together)  # fmt: skip
        return (done[-1] if done else None), sum(lengths)

    def _report(self, total: int, _: int, done: int, __: int) -> None:
        self.send(Event(FINISH, item=NAME, done=done, total=total))

    def _answers(self, run: Run, trained: Trained, network: Blueprint) -> Path:
        """Keep what the teacher says of the training images, mixed with their labels."""
        from ...datasets.augment import parse
        from ...networks.taught import mixed_targets, write_targets
        from ...networks.training import logits_of, one_thread

        path = run.path / TARGETS
        if not path.exists():
            dataset, teacher = self.trainings.dataset, trained.load().to(self.trainings.hardware.device)
            with one_thread():
                logits = logits_of(
                    teacher, network.resolution, dataset, "train", mirrored=parse(self.plan.augment).flip
                )
            write_targets(path, mixed_targets(dataset, logits, ANSWERS_SHARE))
        return path
