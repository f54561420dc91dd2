"""Trainings of networks, each in a run directory of its own and never twice.

    KEY/            hash of everything that the result depends on: network, recipe, seed, data, weights to start from
        run.toml metrics.jsonl timings.jsonl checkpoints/    as of any run
        weights.safetensors                                  of the trained network
        result.json                                          metrics, or null and the reason; written last

Every process has one thread, so that the numbers do not depend on how many trainings run beside it. Several processes
may train one network together: each takes its part of every batch, with BN statistics of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from ..blueprint import Blueprint
from ..datasets import load
from ..datasets.dataset import Dataset
from ..errors import DivergedError, InputError, RunError
from ..hardware import Hardware
from ..nn.network import Network, build
from ..objective import Metrics
from ..parallel.folders import map_in_folders
from ..parallel.ranks import launch_ranks
from ..parallel.workers import Report, on_cluster
from ..reading import read_json
from ..runs.directory import Run, jsonable, open_run, plain, read_records, read_settings
from ..runs.files import RESULT, TIMINGS, WEIGHTS
from ..runs.trust import Policy, current_policy, install_policy
from ..training.checkpoint import checksum, read, write
from ..training.loop import Progress
from ..training.recipe import Recipe
from .baselines import Baseline, from_record
from .scores import Labels, Logits, scores
from .taught import read_targets
from .training import logits_of, measure, one_thread, training

MEASURED = ("accuracy", "cross_entropy", "balanced_accuracy", "f1")  # of every trained network
METRICS = tuple(f"valid/{name}" for name in MEASURED)
LOCK_PATIENCE_S = 60.0  # for the workers of a killed process to notice; they look after every step
RECIPE_TEXT_FIELDS = ("title", "source")  # of a recipe: they do not change the training


@dataclass(frozen=True)
class Training:
    """What to train, as plain data."""

    blueprint: Blueprint | Baseline
    recipe: Recipe
    seed: int
    loading: Mapping[str, Any]  # arguments of `datasets.load`
    inherit: Path | None = None  # weights to start from, as `keep_weights` wrote them; none: from scratch
    data: str = ""  # the data's fingerprint; by default they are loaded for it
    processes: int = 1  # that train the network together, each with its part of every batch
    device: str = "cpu"  # where they do
    precision: str = "no"  # mixed precision
    frozen: tuple[str, ...] = ()  # layers that are not trained
    targets: Path | None = None  # what a teacher says of the training images (`networks.taught`); none: their labels

    def __post_init__(self) -> None:
        if self.recipe.sampler is not None:
            raise InputError("a network has no paths to sample: its recipe must have no sampler")
        if self.targets is not None and self.recipe.balance == "weights":
            raise InputError("recipe: balance = 'weights' cannot be combined with a teacher")

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that the result depends on."""
        recipe = {k: v for k, v in self.recipe.settings().items() if k not in RECIPE_TEXT_FIELDS}
        source = self.blueprint
        network = {"baseline": source.record()} if isinstance(source, Baseline) else {"blueprint": source.to_json()}
        return {
            "job": "network",
            "seed": self.seed,
            "data": self.data or dataset_of(self.loading).fingerprint,
            "start": "scratch" if self.inherit is None else str(read(self.inherit)[1]["sha256"]),
            "recipe": recipe,
            **({"frozen": list(self.frozen)} if self.frozen else {}),
            **({} if self.targets is None else {"targets": str(read(self.targets)[1]["sha256"])}),
            **self.hardware.differences(),
            **network,
        }

    @property
    def hardware(self) -> Hardware:
        """Where it runs, with one thread."""
        return Hardware(self.device, self.precision, self.processes)

    @property
    def key(self) -> str:
        """Equal for equal trainings."""
        return key_of(self.settings)


def key_of(settings: Mapping[str, Any]) -> str:
    """The name of a training's directory: a digest of its settings, as a run keeps them."""
    return hashlib.sha256(json.dumps(plain(settings), sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Trained:
    """A finished training; if it diverged, its metrics are NaN and it has no weights."""

    key: str
    path: Path
    metrics: Metrics
    reason: str = ""

    def load(self) -> nn.Module:
        """The trained network, ready for evaluation."""
        if self.reason:
            raise RunError(f"{self.path} holds no network: {self.reason}")
        network = _recorded(training_settings(self.path))
        network.load_state_dict(read(self.path / WEIGHTS)[0])
        return network.eval()


def train_all(
    trainings: Sequence[Training],
    directory: Path,
    *,
    workers: int,
    progress: Callable[[int, int, int], None] | None = None,
) -> list[Trained]:
    """Train networks; those that are trained already are only read.

    Interrupted in any way and called again, it goes on from checkpoints and ends with the same bytes. A training that
    diverges does not end the others, nor does one that ends every worker of a cluster that tries it.

    Args:
        trainings: The networks, each with its recipe.
        directory: Keeps every training under its key.
        workers: Processes.
        progress: Receives the number of a training, its steps done and its total steps.

    Returns:
        The results, in the order given.
    """
    numbers: dict[str, int] = {}
    for i, one in enumerate(trainings):
        numbers.setdefault(one.key, i)
    missing = [i for key, i in numbers.items() if not (directory / key / RESULT).exists()]
    alone = [i for i in missing if trainings[i].processes == 1]
    items = [(trainings[i], _start_weights(trainings[i])) for i in alone]
    folders = [directory / trainings[i].key for i in alone]
    watch = progress or (lambda *_: None)
    environments = trainings[alone[0]].hardware.environments() if alone else [{}]
    map_in_folders(
        _train_sent, items, folders, workers, lambda k, done, steps: watch(alone[k], done, steps), environments,
        done=RESULT, given_up=lambda k, reason: _give_up(items[k][0], folders[k], reason),
    )  # fmt: skip
    for i in missing:
        if trainings[i].processes > 1:
            _train((trainings[i], directory / trainings[i].key), partial(watch, i))
    return [read_trained(directory / one.key) for one in trainings]


def training_settings(path: Path) -> dict[str, Any]:
    """The settings of a training, which must be those that its directory is named by."""
    settings = {k: v for k, v in read_settings(path).items() if k != "versions"}
    if key_of(settings) != path.name:
        raise RunError(f"{path} is not the training that its name stands for: its settings were changed")
    return settings


def training_seconds(path: Path) -> tuple[float, int]:
    """Seconds that a training took between checkpoints, and its steps.

    Args:
        path: The directory of a finished training.

    Returns:
        Both numbers, added up over its checkpoints.
    """
    laps = [r for r in read_records(path / TIMINGS) if "step" in r]
    return sum(float(r["seconds"]) for r in laps), max((int(r["step"]) for r in laps), default=0)


def training_pace(path: Path) -> float:
    """Seconds per step of a finished training, by its directory."""
    seconds, steps = training_seconds(path)
    return seconds / max(1, steps)


def read_trained(path: Path) -> Trained:
    """The result of a finished training."""
    try:
        record = read_json(path / RESULT)
        metrics = {name: nan if value is None else float(value) for name, value in record["metrics"].items()}
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"{path} holds no finished training: {error}") from None
    training_settings(path)
    return Trained(path.name, path, metrics, record.get("reason", ""))


def keep_weights(network: nn.Module, directory: Path) -> Path:
    """Write the weights that a training is to start from, under a name that says what they are."""
    tensors = {name: t.detach().cpu().contiguous() for name, t in network.state_dict().items()}
    path = directory / f"start-{checksum(tensors)[:16]}.safetensors"
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        write(path, tensors, {})
    return path


def evaluate(
    network: nn.Module, dataset: Dataset, split: str, resolution: int | None = None
) -> tuple[Metrics, npt.NDArray[np.bool_]]:
    """Evaluate a network on a split.

    Args:
        network: In evaluation mode.
        dataset: The images.
        split: The split.
        resolution: Of the images; by default that of the network's blueprint, else the data's.

    Returns:
        Accuracy, cross-entropy, balanced accuracy and F1, and which images the network classifies correctly.
    """
    logits, labels = split_logits(network, dataset, split, resolution), dataset.labels[dataset.splits[split]]
    return metrics_of(logits, labels, split), logits.argmax(axis=1) == labels


def split_logits(network: nn.Module, dataset: Dataset, split: str, resolution: int | None = None) -> Logits:
    """Logits of a split's images; arguments as for `evaluate`."""
    if resolution is None:
        resolution = network.blueprint.resolution if isinstance(network, Network) else dataset.resolution
    return logits_of(network, resolution, dataset, split)


def metrics_of(logits: Logits, labels: Labels, split: str) -> Metrics:
    """What is measured of every trained network, from its logits."""
    return scores([f"{split}/{name}" for name in MEASURED], {split: logits}, {split: labels})


def dataset_of(loading: Mapping[str, Any]) -> Dataset:
    """The data, loaded once in a process; those before the last are kept too."""
    return _loaded(json.dumps(dict(loading), sort_keys=True, default=str))


@lru_cache(maxsize=2)  # a transfer has two, of the same images
def _loaded(loading: str) -> Dataset:
    return load(**json.loads(loading))


def _start_weights(task: Training) -> bytes:
    """What a worker of a cluster needs beside its task: the weights to start from."""
    return task.inherit.read_bytes() if task.inherit is not None and on_cluster() else b""


def _train_sent(item: tuple[tuple[Training, bytes], Path], report: Report) -> None:
    """Train one network to its end, from weights that were sent along if there are any."""
    (task, start), path = item
    if start and task.inherit is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.parent / task.inherit.name
        file.write_bytes(start)
        task = replace(task, inherit=file)
    _train((task, path), report)


def _give_up(task: Training, path: Path, reason: str) -> None:
    """Record that no worker could train a network."""
    with open_run(path, task.settings) as run:
        _write_result(run, dict.fromkeys(METRICS, nan), f"given up: {reason}")


def _train(item: tuple[Training, Path], report: Report) -> None:
    """Train one network to its end."""
    task, path = item
    settings, dataset = task.settings, dataset_of(task.loading)
    if dataset.fingerprint != settings["data"]:
        raise RunError(f"{path} is of other data than {dataset.source} holds now")
    with one_thread(), open_run(path, settings, patience=LOCK_PATIENCE_S) as run:
        if (path / RESULT).exists():  # by another process, while this one waited
            return
        network = _start(task)
        try:
            for p in _steps(task, network, dataset, run):
                report(p.step, p.steps)
        except DivergedError as error:  # any other error may pass, and is not recorded: the training can go on
            metrics, reason = dict.fromkeys(METRICS, nan), str(error)
        else:
            if task.processes > 1:
                network.load_state_dict(read(path / WEIGHTS)[0])
                network.to(task.device)
            else:
                _write_weights(network, path)
            measured = METRICS if len(dataset.splits["valid"]) else ()
            metrics = measure(network.eval(), task.blueprint.resolution, dataset, measured)
            reason = "" if all(v == v for v in metrics.values()) else "the logits of the trained network are not finite"
        _write_result(run, metrics, reason)


def _write_result(run: Run, metrics: Metrics, reason: str) -> None:
    why = {"reason": reason} if reason else {}
    record = {"metrics": {name: jsonable(v) for name, v in metrics.items()}, **why}
    run.write(RESULT, json.dumps(record, indent=1) + "\n")


def _steps(task: Training, network: nn.Module, dataset: Dataset, run: Run) -> Iterator[Progress]:
    """The steps, taken here, or by several processes together, of which the first writes the weights."""
    if task.processes == 1:
        return training(
            network, task.blueprint.resolution, dataset, task.recipe, task.seed, run, task.hardware, curve=True,
            targets=_targets(task),
        )  # fmt: skip
    arguments = task, run.path, run.lock, current_policy()
    return launch_ranks(_one_of_several, task.processes, *arguments, keep_open=[run.lock])


def _one_of_several(task: Training, path: Path, lock: int, policy: Policy) -> Iterator[Progress]:
    """What each of several processes does. All begin with the same weights; the first has the run."""
    install_policy(policy)
    first = os.environ["RANK"] == "0"
    network, dataset = _start(task), dataset_of(task.loading)
    run = Run(path, task.settings, lock) if first else None
    yield from training(
        network, task.blueprint.resolution, dataset, task.recipe, task.seed, run, task.hardware, curve=True,
        targets=_targets(task),
    )  # fmt: skip
    if first:
        _write_weights(network, path)


def _write_weights(network: nn.Module, path: Path) -> None:
    write(path / WEIGHTS, {n: t.detach().cpu().contiguous() for n, t in network.state_dict().items()}, {})


def _start(task: Training) -> nn.Module:
    """The network as its training begins."""
    network = _fresh(task.blueprint, task.seed)
    if task.inherit is not None:
        _inherit(network, task.inherit)
    if task.frozen:
        if not isinstance(network, Network):
            raise InputError("only networks with a blueprint have layers that can be frozen")
        network.freeze(task.frozen)
    return network


def _targets(task: Training) -> Tensor | None:
    return None if task.targets is None else read_targets(task.targets)


def _fresh(source: Blueprint | Baseline, seed: int = 0) -> nn.Module:
    """The network with fresh weights."""
    return source.build(seed) if isinstance(source, Baseline) else build(source, seed=seed)


def _recorded(settings: Mapping[str, Any]) -> nn.Module:
    """The network that a training's settings describe; a baseline is code, which needs trust."""
    if "baseline" in settings:
        return _fresh(from_record(settings["baseline"]))
    return _fresh(Blueprint.from_json(settings["blueprint"]))


def _inherit(network: nn.Module, weights: Path) -> None:
    try:
        network.load_state_dict(read(weights)[0])
    except RuntimeError as error:
        raise InputError(
            f"the weights {weights} are of another network: {str(error).splitlines()[-1].strip()}"
        ) from None
