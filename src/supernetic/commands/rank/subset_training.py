"""Trainings on small subsets as scores for `rank`: `ladder`, or `ladder:size=500,seeds=2`; nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...benchmarks import Column, Table
from ...benchmarks.table import Ints
from ...errors import InputError, UnknownNameError
from ...jobs.train.score import Report
from ...objective import Metrics
from ...settings import with_settings
from .proxies import in_chunks, missing_last

if TYPE_CHECKING:
    from ...evaluators.subset_training import SubsetTrainingEvaluator

SUBSET_TRAINING = "ladder"
METRICS = ("calibrated_cross_entropy", "cross_entropy", "accuracy")
EPOCHS, RATE = 15, 0.006  # as `select` has them; the rate is the middle one of those that it tries
CHUNK = 10  # networks of a worker between two reports, where there are several: each time they start anew


@dataclass(frozen=True)
class Asked:
    """What `ladder:KEY=VALUE,...` says: a rung of so many images, trained so often, and the metric of `valid`."""

    size: int = 1000
    seeds: int = 1
    epochs: int = EPOCHS
    lr: float = RATE
    stratified: bool = False
    metric: str = METRICS[0]

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise UnknownNameError(f"metric of {SUBSET_TRAINING}", self.metric, METRICS)


def is_subset_training(name: str) -> bool:
    """Whether a score is one of trainings on a subset."""
    return name.partition(":")[0] == SUBSET_TRAINING


def parse_subset_training(name: str) -> Asked:
    """`ladder`, or with settings behind a colon."""
    found: Asked = with_settings(Asked(), SUBSET_TRAINING, name.partition(":")[2])
    return found


def scored_by_subset_training(
    table: Table,
    rows: Ints,
    asked: Mapping[str, str],
    data: str | Path,
    seed: int,
    workers: int = 1,
    progress: Report | None = None,
) -> tuple[Table, list[str]]:
    """The table with what trainings on a rung say of some rows, more for better, and remarks.

    `asked` has the score by column. Images are turned to the side and channels of the space. A network whose training
    diverges is ranked last.
    """
    columns, remarks = dict(table.columns), []
    for column, name in asked.items():
        score = parse_subset_training(name)
        metric = f"valid/{score.metric}"
        sign = -1 if metric.endswith("cross_entropy") else 1
        found = _train(table.take(rows), score, data, seed, workers, progress) if len(rows) else []
        values, more = missing_last(len(table), rows, [sign * m[metric] for m in found], name)
        columns[column] = Column(values, split="valid")
        remarks += [f"{name} is {metric}" + (", less is better: its sign is turned" if sign < 0 else ""), *more]
    return replace(table, columns=columns), remarks


def _train(
    table: Table, score: Asked, data: str | Path, seed: int, workers: int, progress: Report | None
) -> list[Metrics]:
    evaluate = _evaluator(table, score, data, seed, workers)
    return in_chunks(evaluate, list(table), 1 if workers == 1 else CHUNK * workers, progress)


def _evaluator(table: Table, score: Asked, data: str | Path, seed: int, workers: int) -> SubsetTrainingEvaluator:
    from ...datasets import load
    from ...evaluators.subset_training import SubsetTrainingEvaluator
    from ...jobs.select.trainings import RECIPE, recipe_for

    first = table.space.blueprint(next(iter(table)))
    dataset = load(data, resolution=first.resolution, gray=first.in_channels == 1)
    if first.classes < (classes := len(dataset.classes)):
        raise InputError(f"{dataset.name} has {classes} classes, networks of {table.space.name} have {first.classes}")
    recipe = recipe_for(replace(RECIPE, length=f"{score.epochs} epochs"), score.size, score.lr)
    return SubsetTrainingEvaluator(
        table.space, dataset, recipe, score.size, score.seeds, score.stratified, workers=workers, seed=seed
    )
