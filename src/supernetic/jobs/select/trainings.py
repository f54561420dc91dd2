"""The trainings behind a choice: each in a run directory of its own, and never twice.

KEY/                          hash of all that the result depends on
    run.toml metrics.jsonl    as of any run
    images.npz                the three scores of every image that was scored
    result.json               temperature and means, or why there are none; written last
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...datasets import Dataset
from ...errors import InputError, RunError, SupernetError
from ...families import CandidateModel
from ...hardware import Hardware
from ...networks.pool import LOCK_PATIENCE_S, RECIPE_TEXT_FIELDS, dataset_of
from ...networks.training import logits_of, one_thread, training
from ...parallel.folders import map_in_folders
from ...parallel.ranks import launch_ranks
from ...parallel.workers import Report
from ...pretrained.member import PretrainedMember
from ...reading import read_json
from ...runs.directory import Run, jsonable, open_run
from ...runs.files import CHECKPOINTS, IMAGE_SCORES, RESULT
from ...selection.scores import METRICS, score
from ...selection.subsets import CALIBRATION_STRIDE, take_subset
from ...training.checkpoint import read, write
from ...training.loop import Progress
from ...training.recipe import Recipe

MIN_BATCHES = 16  # of an epoch: small subsets have smaller batches, so that all get some hundred updates
MIN_IMAGES = 2  # in a process at a time, for BN
TRAINED = "trained.safetensors"  # among the checkpoints: what several processes leave to the one that scores
RATES = (2e-3, 6e-3, 2e-2)  # learning rates that are tried
PRETRAINED_RATES = (2e-4, 6e-4, 2e-3)  # by models that begin with pretrained weights, which larger ones destroy
RECIPE = Recipe(
    title="a subset on a CPU",
    source="ours: 15 epochs of Adam, short enough for a CPU; batch size of 'small data, big decisions'",
    length="15 epochs",
    batch_size=256,
    optimiser="adam",
    lr=RATES[1],
    smoothing=0.999,
    schedule="cosine",
)


@dataclass(frozen=True)
class SubsetTraining:
    """A model, trained on a subset by a recipe, as plain data."""

    model: CandidateModel
    recipe: Recipe
    size: int
    seed: int
    on: str
    stratified: bool
    loading: Mapping[str, Any]  # arguments of `datasets.load`
    data: str  # the data's fingerprint
    processes: int = 1  # that share each batch
    device: str = "cpu"  # where they train
    precision: str = "no"  # mixed precision

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on."""
        return {
            "job": "subset",
            "network": self.model.fingerprint,
            "recipe": {k: v for k, v in self.recipe.settings().items() if k not in RECIPE_TEXT_FIELDS},
            "size": self.size,
            "seed": self.seed,
            "on": self.on,
            "stratified": self.stratified,
            "data": self.data,
            **self.hardware.differences(),  # roundings differ, and BN over several processes
        }

    def subset(self, dataset: Dataset) -> Dataset:
        """Its images, normalised as the model wants them."""
        data = take_subset(dataset, self.size, self.seed, self.on, stratified=self.stratified)
        return as_wanted(data, self.model)

    @property
    def hardware(self) -> Hardware:
        """Where it runs, with one thread."""
        return Hardware(self.device, self.precision, self.processes)

    @property
    def key(self) -> str:
        """Equal for equal trainings."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.model.name}, {self.size:,} images, seed {self.seed}"


@dataclass(frozen=True)
class Outcome:
    """A finished training; one that diverged has a reason and no scores."""

    path: Path
    calibration: float  # calibrated cross-entropy of the calibration part
    temperature: float
    bound: bool  # the temperature is as far as it may go
    metrics: Mapping[str, float]
    reason: str = ""

    def images(self) -> npt.NDArray[np.float32]:
        """Metric x image."""
        with np.load(self.path / IMAGE_SCORES) as file:
            scores: npt.NDArray[np.float32] = file["scores"]
        return scores


def start_of(model: CandidateModel) -> str:
    """The pretrained network whose weights a model begins with; empty for random weights."""
    return model.network.source if isinstance(model.network, PretrainedMember) else ""


def as_wanted(data: Dataset, model: CandidateModel) -> Dataset:
    """The images in the normalisation of a pretrained model; others take the images' own."""
    network = model.network
    return replace(data, normalisation=network.normalisation) if isinstance(network, PretrainedMember) else data


def trained_images(size: int) -> int:
    """Of a subset of `size` images: the others calibrate."""
    return size - size // CALIBRATION_STRIDE


def recipe_for(
    recipe: Recipe, size: int, rate: float | None = None, *, min_batches: int = MIN_BATCHES, processes: int = 1
) -> Recipe:
    """The recipe for a subset: enough batches an epoch, and a learning rate.

    Args:
        recipe: Its batch is the largest there is.
        size: Images of the subset.
        rate: The learning rate; None for the recipe's.
        min_batches: Of an epoch. With 1 the batch is only cut where the subset has fewer images.
        processes: That share each batch equally.

    Returns:
        The recipe with the subset's batch.
    """
    share = max(MIN_IMAGES, trained_images(size) // min_batches // processes)
    batch = min(recipe.batch_size, share * processes)
    return replace(recipe, batch_size=batch, lr=recipe.lr if rate is None else rate)


def train_subsets(
    subset_trainings: Sequence[SubsetTraining], directory: Path, workers: int, progress: Callable[[int, int, int], None]
) -> list[Outcome]:
    """Train models on subsets; trainings that are finished are only read.

    Args:
        subset_trainings: The trainings.
        directory: Keeps every training under its key.
        workers: Processes.
        progress: Receives the number of a training, its steps done and its total steps.

    Returns:
        The results, in the order given.
    """
    missing = [i for i, r in enumerate(subset_trainings) if not (directory / r.key / RESULT).exists()]
    items = [subset_trainings[i] for i in missing]
    folders = [directory / item.key for item in items]
    environments = items[0].hardware.environments() if items else [{}]
    map_in_folders(
        work, items, folders, workers, lambda k, done, steps: progress(missing[k], done, steps), environments,
        done=RESULT, given_up=lambda k, reason: _give_up(items[k], folders[k], reason),
    )  # fmt: skip
    return [read_outcome(directory / r.key) for r in subset_trainings]


def read_outcome(path: Path) -> Outcome:
    """The result of a finished training."""
    try:
        record = read_json(path / RESULT)
        if reason := record.get("reason", ""):
            return Outcome(path, nan, nan, False, dict.fromkeys(METRICS, nan), reason)
        return Outcome(path, record["calibration"], record["temperature"], record["bound"], record["metrics"])
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"{path} holds no finished training: {error}") from None


def work(item: tuple[SubsetTraining, Path], report: Report) -> None:
    """Train one model on one subset to its end; what diverges does not end the others."""
    task, path = item
    dataset = dataset_of(task.loading)
    if dataset.fingerprint != task.data:
        raise RunError(f"{path} is of other data than {dataset.source} holds now")
    with one_thread(), open_run(path, task.settings, patience=LOCK_PATIENCE_S) as run:
        if (path / RESULT).exists():  # by another process, while this one waited
            return
        data = task.subset(dataset)
        network, resolution = task.model.build(task.seed), task.model.resolution
        record: dict[str, Any]
        try:
            if task.processes > 1:
                steps = launch_ranks(_share, task.processes, task, path, run.lock, keep_open=[run.lock])
            else:
                steps = training(network, resolution, data, task.recipe, task.seed, run, task.hardware)
            for p in steps:
                report(p.step, p.steps)
            if task.processes > 1:
                network.load_state_dict(read(path / CHECKPOINTS / TRAINED)[0])
                network.to(task.device)
            network.eval()
            logits = {split: logits_of(network, resolution, data, split) for split in ("calibrate", task.on)}
            if not all(np.isfinite(z).all() for z in logits.values()):
                raise SupernetError("the logits of the trained network are not finite")
        except InputError:
            raise
        except SupernetError as error:
            record = {"reason": str(error)}
        else:
            labels = {split: data.labels[data.splits[split]] for split in logits}
            scores = score(logits["calibrate"], labels["calibrate"], logits[task.on], labels[task.on])
            _write(path / IMAGE_SCORES, scores.values.astype(np.float32))
            means = dict(zip(METRICS, scores.values.mean(axis=1).tolist(), strict=True))
            record = {
                "calibration": jsonable(scores.calibration),
                "temperature": scores.temperature,
                "bound": scores.bound,
                "metrics": means,
            }
        run.write(RESULT, json.dumps(record, indent=1) + "\n")
        shutil.rmtree(path / CHECKPOINTS, ignore_errors=True)


def _give_up(task: SubsetTraining, path: Path, reason: str) -> None:
    """Record that no worker of a cluster could train a model."""
    with open_run(path, task.settings) as run:
        run.write(RESULT, json.dumps({"reason": f"given up: {reason}"}, indent=1) + "\n")


def _share(task: SubsetTraining, path: Path, lock: int) -> Iterator[Progress]:
    """What each of several processes does: its part of every batch. The first has the run, and leaves the weights."""
    data = task.subset(dataset_of(task.loading))
    network, first = task.model.build(task.seed), os.environ["RANK"] == "0"
    run = Run(path, task.settings, lock) if first else None
    resolution = task.model.resolution
    yield from training(network, resolution, data, task.recipe, task.seed, run, task.hardware, paths=True)
    if first:
        write(path / CHECKPOINTS / TRAINED, {n: t.cpu() for n, t in network.state_dict().items()}, {})


def _write(path: Path, scores: npt.NDArray[np.float32]) -> None:
    temporary = path.with_name(f".{path.name}")
    np.savez_compressed(temporary, scores=scores)
    temporary.replace(path)
