"""Scores by networks that are made for the purpose: zero-cost proxies, and trainings on a subset. Nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...benchmarks import Column, Table
from ...benchmarks.table import Floats, Ints
from ...errors import InputError, UnknownNameError
from ...evaluators.evaluator import Evaluator
from ...hardware import CPU, Hardware
from ...objective import Metrics
from ...progress import Event, OnEvent, ignore
from ...proxies import PREFIX, PROXIES, full_name
from ...settings import with_settings
from ...space import Arch, Space
from .run_score import metric_remark, sign_of
from .scores import Answers, SampleSize, Score

if TYPE_CHECKING:
    from ...blueprint import Blueprint
    from ...datasets import Dataset
    from ...evaluators.subset_training import SubsetTrainingEvaluator

PROXY_SAMPLE, TRAINING_SAMPLE = SampleSize(1000, 300), SampleSize(20, 0)
PROXY_CHUNK = 20  # networks between two events
TRAINING_CHUNK = 10  # networks of a worker between two events, where there are several: each time they start anew
SUBSET = "subset"  # as in `subset:size=500`
SUBSET_METRICS = ("calibrated_cross_entropy", "cross_entropy", "accuracy")
EPOCHS, LEARNING_RATE = 15, 0.006  # as `select` has them; the rate is the middle one of those that it tries


@dataclass(frozen=True)
class ImageOptions:
    """Images, and how they are read.

    Args:
        source: A name or a path.
        image_size: Pixels that they are brought to; None: the resolution of the networks.
        valid: Number or share of validation images; None: as `datasets.load` has it.
    """

    source: str | Path = "embedded"
    image_size: int | None = None
    valid: float | None = None

    def load(self, blueprint: Blueprint, on_event: OnEvent, **options: Any) -> Dataset:
        """The images for networks like this one."""
        from ...datasets import load

        resolution = self.image_size or blueprint.resolution
        gray = blueprint.in_channels == 1
        return load(self.source, resolution=resolution, gray=gray, valid=self.valid, on_event=on_event, **options)


# --- zero-cost proxies ------------------------------------------------------------------------------------------------


def is_proxy(text: str) -> bool:
    """Whether there is a proxy of that name, full or short."""
    return text.removeprefix(PREFIX) in PROXIES


@dataclass(frozen=True, eq=False)
class ProxyBatch:
    """Proxies that are measured together, since they share the passes through each network.

    Args:
        data: Images, which are turned to the resolution and channels of the space.
        seed: Of the weights and the mini-batch.
        names: The proxies.
        device: Where networks are built and run.
    """

    data: ImageOptions = ImageOptions()
    seed: int = 0
    names: list[str] = field(default_factory=list)
    device: str = "cpu"
    _answers: dict[Arch, Metrics] = field(default_factory=dict)

    def add(self, name: str) -> ProxyScore:
        """One more proxy; not after the first answer."""
        self.names.append(name)
        return ProxyScore(name, self)

    def answers(self, space: Space, archs: Sequence[Arch], on_event: OnEvent) -> list[Metrics]:
        """All proxies of each architecture."""
        from ...evaluators.proxies import ProxyEvaluator

        waiting = [a for a in dict.fromkeys(archs) if a not in self._answers]
        if waiting:
            dataset = self.data.load(space.blueprint(waiting[0]), on_event, seed=self.seed)
            evaluate = ProxyEvaluator(space, dataset, tuple(self.names), seed=self.seed, device=self.device)
            metrics = in_chunks(evaluate, waiting, PROXY_CHUNK, " + ".join(self.names), on_event)
            self._answers.update(zip(waiting, metrics, strict=True))
        return [self._answers[a] for a in archs]


@dataclass(frozen=True)
class ProxyScore(Score):
    """A zero-cost proxy: what an untrained network says for itself. One that gets no number is ranked last.

    Args:
        name: The proxy's name, full or short.
        batch: The proxies that it is measured with.
    """

    name: str
    batch: ProxyBatch
    is_measured: ClassVar[bool] = True
    can_be_truth: ClassVar[bool] = False
    usual_sample: ClassVar[SampleSize] = PROXY_SAMPLE

    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        """Measure the proxy on a fresh network of each architecture."""
        answers = self.batch.answers(table.space, list(table.take(rows)), on_event)
        values, remarks = missing_last([a[full_name(self.name)] for a in answers], self.name)
        return Answers(Column(values), remarks)


# --- trainings on a subset --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SubsetSettings:
    """What `subset:KEY=VALUE,...` says.

    Args:
        size: Images of the subset, of which one tenth calibrates.
        seeds: Trainings of each network, each on another subset; the score is their mean.
        epochs: The length of a training.
        lr: The learning rate.
        stratified: Whether a subset has equally many images of each class.
        metric: A metric of the validation split.
    """

    size: int = 1000
    seeds: int = 1
    epochs: int = EPOCHS
    lr: float = LEARNING_RATE
    stratified: bool = False
    metric: str = SUBSET_METRICS[0]

    def __post_init__(self) -> None:
        if self.metric not in SUBSET_METRICS:
            raise UnknownNameError(f"metric of {SUBSET}", self.metric, SUBSET_METRICS)


def is_subset_training(text: str) -> bool:
    """Whether a score is one of trainings on a subset."""
    return text.partition(":")[0] == SUBSET


def parse_subset(text: str) -> SubsetSettings:
    """`subset`, or with settings behind a colon."""
    settings: SubsetSettings = with_settings(SubsetSettings(), SUBSET, text.partition(":")[2])
    return settings


@dataclass(frozen=True)
class SubsetTrainingScore(Score):
    """What short trainings on a small subset say. A network whose training diverges is ranked last.

    Args:
        name: As the caller wrote it.
        settings: Of the subset and the trainings.
        data: Images, which are turned to the resolution and channels of the space.
        seed: The first seed of the subsets and the trainings.
        workers: Trainings at a time.
        hardware: Where they run.
    """

    name: str
    settings: SubsetSettings
    data: ImageOptions = ImageOptions()
    seed: int = 0
    workers: int = 1
    hardware: Hardware = CPU
    is_measured: ClassVar[bool] = True
    can_be_truth: ClassVar[bool] = False
    usual_sample: ClassVar[SampleSize] = TRAINING_SAMPLE

    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        """Train each architecture; cross-entropy has its sign reversed."""
        archs = list(table.take(rows))
        chunk = 1 if self.workers == 1 else TRAINING_CHUNK * self.workers
        answers = in_chunks(self._evaluator(table.space, archs[0], on_event), archs, chunk, self.name, on_event)
        metric = f"valid/{self.settings.metric}"
        values, remarks = missing_last([sign_of(metric) * a[metric] for a in answers], self.name)
        return Answers(Column(values, split="valid"), [metric_remark(self.name, metric), *remarks])

    def _evaluator(self, space: Space, arch: Arch, on_event: OnEvent) -> SubsetTrainingEvaluator:
        from ...evaluators.subset_training import SubsetTrainingEvaluator
        from ...jobs.select.trainings import RECIPE, recipe_for

        first, settings = space.blueprint(arch), self.settings
        dataset = self.data.load(first, on_event)
        if first.classes < (classes := len(dataset.classes)):
            raise InputError(f"{dataset.name} has {classes} classes, networks of {space.name} have {first.classes}")
        recipe = recipe_for(replace(RECIPE, length=f"{settings.epochs} epochs"), settings.size, settings.lr)
        return SubsetTrainingEvaluator(
            space,
            dataset,
            recipe,
            settings.size,
            settings.seeds,
            settings.stratified,
            workers=self.workers,
            seed=self.seed,
            hardware=self.hardware,
        )


# --- both -------------------------------------------------------------------------------------------------------------


def missing_last(numbers: Sequence[float], name: str) -> tuple[Floats, list[str]]:
    """A score, more for better, in which NaN becomes the least of all numbers; and a remark, if that was needed."""
    values = np.array(numbers, np.float64)
    missing = np.isnan(values)
    if not missing.any():
        return values, []
    values[missing] = 0.0 if missing.all() else np.nextafter(np.nanmin(values), -np.inf)
    return values, [f"{missing.sum()} of {len(values)} networks get no number from {name} and are ranked last"]


def in_chunks(evaluate: Evaluator, archs: Sequence[Arch], size: int, name: str, on_event: OnEvent) -> list[Metrics]:
    """All answers of an evaluator that is asked for a few networks at a time, so that events can be sent between."""
    answers: list[Metrics] = []
    for start in range(0, len(archs), size):
        answers += evaluate(archs[start : start + size])
        on_event(Event("score", item=name, done=len(answers), total=len(archs)))
    return answers
