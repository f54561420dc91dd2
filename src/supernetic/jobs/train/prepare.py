"""A training of a supernet: everything that is settled before its first step, and the steps."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, UnknownNameError
from ...result import Result
from ...runs.directory import Run
from ...runs.space_record import space_record
from ...runs.trust import Policy, current_policy, install_policy
from ...samplers.named import sampler as named_sampler
from ...samplers.named import settings_of
from ...samplers.step import Draw, Sampler, WithLayerCost
from ...space import Space
from .fit_space import fit_space, stabilised
from .supernet_run import SPLITS, TASK, WEIGHTS, untrained

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...supernets.supernet import Supernet
    from ...training.loop import Progress
    from ...training.recipe import Recipe

DEVICES, PRECISIONS = ("auto", "cpu", "cuda"), ("no", "fp16", "bf16")
SAMPLERS = {"choice": "strict_fair", "cell": "strict_fair", "elastic": "sandwich", "scaled": "hierarchical"}
DEFAULT = {
    "title": "default",
    "source": "ours: modest, for small images",
    "length": "20 epochs",
    "batch_size": 128,
    "augment": "flip",
    "lr": 0.2,
    "weight_decay": 3e-4,
    "clip_norm": 5.0,
}
WITH_RECORDS = 10  # times in a training that progress is recorded, at least

Watch = Callable[[Iterable["Progress"]], Iterator["Progress"]]


@dataclass(frozen=True)
class TrainResult(Result):
    """What was trained, or would be: a dry run has neither directory nor loss."""

    run: str | None
    space: str
    data: str
    stabiliser: str
    sampler: dict[str, Any]
    recipe: str
    seed: int
    steps: int
    paths: int  # per step
    batch_size: int
    parameters: int
    memory: int  # bytes of weights, gradients and what the optimiser keeps; activations come on top
    loss: float | None  # mean of the last recorded steps
    notes: tuple[str, ...]  # what was filled in

    def lines(self) -> list[str]:
        """A summary for people."""
        stabilised = f", stabiliser {self.stabiliser}" if self.stabiliser else ""
        done = "dry run: nothing was written" if self.loss is None else f"loss {self.loss:.4f}; all is in {self.run}"
        return [
            f"{self.space} on {self.data}{stabilised}",
            f"{self.steps:,} steps of {self.paths} {'path' if self.paths == 1 else 'paths'} "
            f"by {self.sampler['name']}, {self.batch_size} images each ({self.recipe})",
            f"{self.parameters:,} parameters, {self.memory / 2**20:,.0f} MiB with gradients and optimiser",
            *(f"note: {n}" for n in self.notes),
            done,
        ]


@dataclass(frozen=True)
class TrainJob:
    """Everything that is settled before the first step."""

    space: Space
    supernet: Supernet
    dataset: Dataset
    recipe: Recipe
    settings: dict[str, Any]
    notes: tuple[str, ...]

    @property
    def seed(self) -> int:
        """Of all randomness."""
        return int(self.settings["seed"])

    @property
    def sampler(self) -> Sampler:
        """The recipe's, which knows latencies if there are any."""
        return _priced(self.recipe, self.supernet.space, self.settings.get("latencies"))

    def batches(self, size: int | None = None) -> Any:
        """Training images, augmented, in batches of the recipe's size or another."""
        recipe = dataclasses.replace(self.recipe, batch_size=size) if size else self.recipe
        return _batches(self.dataset, recipe, self.seed)

    def fit(self, run: Run, progress: Watch | None) -> None:
        """Train, from where the run stands; the weights are put in place at the end."""
        from ...parallel.ranks import launch_ranks
        from ...training.checkpoint import read

        processes = int(self.settings.get("processes", 1))
        alone = processes == 1
        task = self.space, self.settings, self.recipe, run.path, run.lock, current_policy()
        training = self.steps(run) if alone else launch_ranks(_one_of_several, processes, *task, keep_open=[run.lock])
        for _ in progress(training) if progress else training:
            pass
        if not alone:
            self.supernet.load_state_dict(read(run.path / WEIGHTS)[0])

    def steps(self, run: Run | None) -> Iterator[Progress]:
        """The steps themselves. Of several processes that take them together, one has the run."""
        import torch

        from ...training.checkpoint import write
        from ...training.devices import accelerator
        from ...training.loop import fit

        settings, recipe = self.settings, self.recipe
        cpu, several = settings["device"] == "cpu", settings.get("processes", 1) > 1
        there = accelerator(settings["precision"], cpu=cpu) if several or not cpu else None
        torch.set_num_threads(int(settings["threads"]))  # after accelerate, which sets it too
        if run:
            run.write(SPLITS, json.dumps(self.dataset.split_record()) + "\n")
        steps = int(settings["steps"])
        every = max(1, min(50, steps // WITH_RECORDS))
        batches = self.batches()
        if there:
            ours = {"device": there.device, "rank": there.process_index, "world": there.num_processes}
            batches = dataclasses.replace(batches, **ours)
        yield from fit(
            self.supernet, batches, self.sampler, recipe, run,
            seed=self.seed, name=TASK, log_every=every, checkpoint_every=min(1000, max(every, steps // WITH_RECORDS)),
            snapshots=settings.get("snapshots", ()), accelerator=there,
        )  # fmt: skip
        if run:
            weights = {n: t.detach().cpu().contiguous() for n, t in self.supernet.state_dict().items()}
            write(run.path / WEIGHTS, weights, {"step": steps})

    def result(self, run: str | None, loss: float | None) -> TrainResult:
        """What was trained, or would be."""
        recipe = self.recipe
        assert recipe.sampler is not None
        step = self.sampler(self.supernet.space, Draw(np.random.default_rng(0)))
        parameters = sum(p.numel() for p in self.supernet.parameters())
        moments = {"sgd": bool(recipe.momentum), "rmsprop": 2, "adam": 2}[recipe.optimiser]
        return TrainResult(
            run=run,
            space=self.space.name,
            data=self.dataset.name,
            stabiliser=getattr(self.space, "stabiliser", ""),
            sampler=settings_of(recipe.sampler),
            recipe=recipe.title,
            seed=self.seed,
            steps=self.settings["steps"],
            paths=len(step.paths),
            batch_size=recipe.batch_size,
            parameters=parameters,
            memory=4 * parameters * (2 + moments + bool(recipe.ema)),
            loss=loss,
            notes=self.notes,
        )


def _one_of_several(
    space: Space, settings: dict[str, Any], recipe: Recipe, path: Path, lock: int, policy: Policy
) -> Iterator[Progress]:
    """What each of several processes does. All make the same untrained supernet; the first has the run."""
    from ...datasets import load

    os.environ["OMP_NUM_THREADS"] = str(settings["threads"])  # else accelerate takes all processors, and says so
    install_policy(policy)
    supernet = untrained(space, settings["stabiliser"], settings["seed"], settings.get("start"))
    job = TrainJob(space, supernet, load(**settings["load"]), recipe, settings, ())
    yield from job.steps(Run(path, settings, lock) if os.environ["RANK"] == "0" else None)


def prepare_training(
    space: str | Space,
    data: str | Path,
    sampler: str | Mapping[str, Any] | Sampler | None,
    recipe: str | Path | Recipe | None,
    steps: int | None,
    stabiliser: str,
    limit: int | None,
    hardware: dict[str, Any],
    seed: int,
    latency: str | Path | None = None,
    start: str | Path | None = None,
) -> TrainJob:
    """Everything about a training, settled and checked; nothing is written."""
    from ...datasets import load
    from ...training.loop import plan_for

    source = str(Path(data).resolve()) if Path(data).exists() else str(data)
    loading: dict[str, Any] = {"source": source, "limit": limit, "seed": seed}
    dataset = load(**loading)
    made, notes = fit_space(space, dataset)
    made = stabilised(made, stabiliser)
    started = None if start is None else str(Path(start).resolve())
    supernet = untrained(made, stabiliser, seed, started)
    blueprint = supernet.space.blueprint(tuple(made.sample(np.random.default_rng(0), 1)[0].tolist()))
    if blueprint.classes < len(dataset.classes):
        raise InputError(f"{made.name} has {blueprint.classes} classes, {dataset.name} has {len(dataset.classes)}")
    pixels = next(iter(supernet.resolutions)) if len(supernet.resolutions) == 1 else dataset.resolution
    if (pixels, blueprint.in_channels) != (dataset.resolution, dataset.channels):
        loading |= {"resolution": pixels, "gray": blueprint.in_channels == 1}
        dataset = load(**loading)
        notes.append(f"images are turned to {pixels}x{pixels}, {'gray' if loading['gray'] else 'colour'}")
    settled = _recipe(recipe, sampler, steps, made)
    batches = _batches(dataset, settled, seed, hardware.get("processes", 1))
    latencies = None if latency is None else str(Path(latency).resolve())
    plan = plan_for(supernet, batches, _priced(settled, supernet.space, latencies), settled)
    settings = {
        "job": "train",
        "seed": seed,
        "steps": plan.steps,
        **hardware,
        "stabiliser": stabiliser,
        "latencies": latencies,
        "start": started,
        "space": space_record(space, made),
        "load": loading,
        "data": dataset.summary(),
        "recipe": settled.settings(),
    }
    return TrainJob(made, supernet, dataset, settled, settings, tuple(notes))


def _priced(recipe: Recipe, space: Space, latencies: str | None) -> Sampler:
    """The recipe's sampler, with measured latencies from a run or a file if they are given."""
    assert recipe.sampler is not None
    if latencies is None:
        return recipe.sampler
    from ...timing.tables import latency_table

    return WithLayerCost(recipe.sampler, latency_table(space, latencies))


def _recipe(
    asked: str | Path | Recipe | None,
    sampler: str | Mapping[str, Any] | Sampler | None,
    steps: int | None,
    space: Space,
) -> Recipe:
    """The recipe with its sampler and length settled."""
    from ...training.recipe import Recipe, read_recipe, recipe

    settled = recipe(DEFAULT) if asked is None else asked if isinstance(asked, Recipe) else read_recipe(asked)
    if sampler is None:
        chosen = settled.sampler or named_sampler(SAMPLERS[space.sharing])
    else:
        chosen = named_sampler(sampler) if isinstance(sampler, str | Mapping) else sampler
    length = settled.length if steps is None else f"{steps} steps"
    return dataclasses.replace(settled, sampler=chosen, length=length)


def hardware_of(device: str, precision: str, processes: int) -> dict[str, Any]:
    """A device that this machine has, a precision that it is good for, and no more processes than GPUs."""
    import torch

    if device not in DEVICES:
        raise UnknownNameError("device", device, DEVICES)
    if precision not in PRECISIONS:
        raise UnknownNameError("precision", precision, PRECISIONS)
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("the device cuda is not available on this machine: use cpu or auto")
    found = "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"
    if found == "cpu" and precision != "no":  # many times slower there, and on some processors an illegal instruction
        raise InputError(f"mixed precision is for GPUs, got precision={precision!r} on a CPU")
    if found == "cuda" and processes > torch.cuda.device_count():
        raise InputError(f"each process needs a GPU: there are {torch.cuda.device_count()}, got processes={processes}")
    several = {"processes": processes} if processes > 1 else {}
    return {"device": found, "precision": precision, **several}


def _batches(dataset: Dataset, recipe: Recipe, seed: int, world: int = 1) -> Any:
    from ...datasets.augment import parse
    from ...datasets.batches import Batches

    augment = parse(recipe.augment) if recipe.augment else None
    return Batches(dataset, "train", recipe.batch_size, seed, augment, world=world)
