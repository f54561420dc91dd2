"""The training of a supernet: everything that is known before its first step, and the steps."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, UnknownNameError
from ...progress import Event, OnEvent
from ...runs.directory import Run
from ...runs.files import SPLITS, SUPERNET
from ...runs.space_record import space_record
from ...runs.trust import Policy, current_policy, install_policy
from ...samplers.named import sampler as named_sampler
from ...samplers.step import Sampler, WithLayerCost
from ...space import Space
from ...timing.tables import latency_table
from .fit_space import fit_space, stabilised
from .supernet_run import TASK, untrained

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...supernets.supernet import Supernet
    from ...training.loop import Progress
    from ...training.recipe import Recipe
    from ...training.schedule import Plan as Schedule

TRAIN = "train"  # the step's name
DEVICES, PRECISIONS = ("auto", "cpu", "cuda"), ("no", "fp16", "bf16")
SAMPLERS = {"choice": "strict_fair", "cell": "strict_fair", "elastic": "sandwich", "scaled": "hierarchical"}
DEFAULT_RECIPE = {
    "title": "default",
    "source": "ours: modest, for small images",
    "length": "20 epochs",
    "batch_size": 128,
    "augment": "flip",
    "lr": 0.2,
    "weight_decay": 3e-4,
    "clip_norm": 5.0,
}
MIN_RECORDS = 10  # times in a training that progress is recorded, at least
TENSORBOARD = "tensorboard"  # its events; like timings, no part of what is reproduced


@dataclass(frozen=True)
class PreparedTraining:
    """A supernet with its data and recipe, ready for the first step."""

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
        return _with_latencies(self.recipe, self.supernet.space, self.settings.get("latencies"))

    def batches(self, size: int | None = None) -> Any:
        """Training images, augmented, in batches of the recipe's size or another."""
        recipe = dataclasses.replace(self.recipe, batch_size=size) if size else self.recipe
        return _batches(self.dataset, recipe, self.seed)

    def schedules(self, network: Recipe) -> tuple[Schedule, Schedule]:
        """The recipes' own lengths.

        Args:
            network: The recipe of finished networks.

        Returns:
            The schedule of the supernet's training, and of a finished network's.
        """
        from ...training.loop import plan_for
        from ...training.schedule import plan_of

        supernet = plan_for(self.supernet, self.batches(), self.recipe.sampler, self.recipe)
        return supernet, plan_of(network, self.batches(network.batch_size).steps_per_epoch)

    def with_recipe(self, recipe: Recipe, steps: int) -> PreparedTraining:
        """The same training by another recipe, of this number of steps."""
        settings = {**self.settings, "steps": steps, "recipe": recipe.settings()}
        return dataclasses.replace(self, recipe=recipe, settings=settings)

    def fit(self, run: Run, send: OnEvent, *, tensorboard: bool = False) -> None:
        """Train, from where the run stands; the weights are put in place at the end."""
        from ...training.checkpoint import read
        from ...training.display import tensorboard as write_events

        training = self._in_processes(run)
        if tensorboard:
            training = write_events(training, run.path / TENSORBOARD)
        for p in training:
            text = f"loss {p.loss:.3f}, {p.images_per_s:,.0f} images/s"
            send(Event(TRAIN, text, done=p.step, total=p.steps))
        if self.settings.get("processes", 1) > 1:
            self.supernet.load_state_dict(read(run.path / SUPERNET)[0])

    def _in_processes(self, run: Run) -> Iterator[Progress]:
        """The steps, taken here or by several processes together."""
        from ...parallel.ranks import launch_ranks

        processes = int(self.settings.get("processes", 1))
        if processes == 1:
            return self.steps(run)
        task = self.space, self.settings, self.recipe, run.path, run.lock, current_policy()
        return launch_ranks(_one_of_several, processes, *task, keep_open=[run.lock])

    def steps(self, run: Run | None) -> Iterator[Progress]:
        """The steps themselves. Of several processes that take them together, one has the run."""
        import torch

        from ...training.checkpoint import write
        from ...training.devices import accelerator
        from ...training.loop import fit

        settings, recipe = self.settings, self.recipe
        cpu, several = settings["device"] == "cpu", settings.get("processes", 1) > 1
        hardware = accelerator(settings["precision"], cpu=cpu) if several or not cpu else None
        torch.set_num_threads(int(settings["threads"]))  # after accelerate, which sets it too
        if run:
            run.write(SPLITS, json.dumps(self.dataset.split_record()) + "\n")
        steps = int(settings["steps"])
        log_every = max(1, min(50, steps // MIN_RECORDS))
        batches = self.batches()
        if hardware:
            share = {"device": hardware.device, "rank": hardware.process_index, "world": hardware.num_processes}
            batches = dataclasses.replace(batches, **share)
        yield from fit(
            self.supernet, batches, self.sampler, recipe, run,
            seed=self.seed, name=TASK, log_every=log_every,
            checkpoint_every=min(1000, max(log_every, steps // MIN_RECORDS)),
            snapshots=settings.get("snapshots", ()), accelerator=hardware,
        )  # fmt: skip
        if run:
            weights = {n: t.detach().cpu().contiguous() for n, t in self.supernet.state_dict().items()}
            write(run.path / SUPERNET, weights, {"step": steps})


def _one_of_several(
    space: Space, settings: dict[str, Any], recipe: Recipe, path: Path, lock: int, policy: Policy
) -> Iterator[Progress]:
    """What each of several processes does. All make the same untrained supernet; the first has the run."""
    from ...datasets import load

    install_policy(policy)
    os.environ["OMP_NUM_THREADS"] = str(settings["threads"])  # else accelerate takes all processors, and says so
    supernet = untrained(space, settings["stabiliser"], settings["seed"], settings.get("start"))
    training = PreparedTraining(space, supernet, load(**settings["load"]), recipe, settings, ())
    yield from training.steps(Run(path, settings, lock) if os.environ["RANK"] == "0" else None)


def prepare_training(
    space: str | Space,
    loading: Mapping[str, Any],
    *,
    hardware: Mapping[str, Any],
    dataset: Dataset | None = None,
    sampler: str | Mapping[str, Any] | Sampler | None = None,
    recipe: str | Path | Recipe | None = None,
    steps: int | None = None,
    stabiliser: str = "",
    latency: str | Path | None = None,
    start: str | Path | None = None,
) -> PreparedTraining:
    """Everything about a training, checked; nothing is written.

    Args:
        space: The space; as text, the data complete it.
        loading: Arguments of `datasets.load`: source, limit, seed. The seed is that of the training too.
        hardware: The settings of `hardware_of`.
        dataset: The data, if they are loaded already.
        sampler: How paths are drawn; by default the recipe's, else the one that goes with the space's sharing.
        recipe: Training settings: a file, a recipe, or None for a modest one.
        steps: Length in place of the recipe's.
        stabiliser: What takes the place of skips, such as `skip` or `skip:identity`.
        latency: A run or file with measured latencies, for samplers with budgets in milliseconds.
        start: A finished run of the same space to take the weights from.

    Returns:
        The supernet with its data and recipe, and notes on what was filled in.
    """
    from ...datasets import load
    from ...training.loop import plan_for

    loading, seed = dict(loading), int(loading["seed"])
    dataset = load(**loading) if dataset is None else dataset
    fitted, notes = fit_space(space, dataset)
    fitted = stabilised(fitted, stabiliser)
    parent = None if start is None else str(Path(start).resolve())
    supernet = untrained(fitted, stabiliser, seed, parent)
    dataset, more = _as_networks_take_it(dataset, supernet, fitted, loading)
    settled = _recipe(recipe, sampler, steps, fitted)
    batches = _batches(dataset, settled, seed, hardware.get("processes", 1))
    latencies = None if latency is None else str(Path(latency).resolve())
    schedule = plan_for(supernet, batches, _with_latencies(settled, supernet.space, latencies), settled)
    settings = {
        "seed": seed,
        "steps": schedule.steps,
        **hardware,
        "stabiliser": stabiliser,
        "latencies": latencies,
        "start": parent,
        "space": space_record(space, fitted),
        "load": loading,
        "data": dataset.summary(),
        "recipe": settled.settings(),
    }
    return PreparedTraining(fitted, supernet, dataset, settled, settings, (*notes, *more))


def _as_networks_take_it(
    dataset: Dataset, supernet: Supernet, space: Space, loading: dict[str, Any]
) -> tuple[Dataset, list[str]]:
    """The data at the networks' resolution and channels, loaded again (and `loading` completed) if they differ."""
    from ...datasets import load

    blueprint = supernet.space.blueprint(tuple(space.sample(np.random.default_rng(0), 1)[0].tolist()))
    if blueprint.classes < len(dataset.classes):
        raise InputError(f"{space.name} has {blueprint.classes} classes, {dataset.name} has {len(dataset.classes)}")
    single = len(supernet.resolutions) == 1
    resolution = next(iter(supernet.resolutions)) if single else dataset.resolution
    if (resolution, blueprint.in_channels) == (dataset.resolution, dataset.channels):
        return dataset, []
    loading |= {"resolution": resolution, "gray": blueprint.in_channels == 1}
    colour = "gray" if loading["gray"] else "colour"
    return load(**loading), [f"images are converted to {resolution}x{resolution}, {colour}"]


def _with_latencies(recipe: Recipe, space: Space, latencies: str | None) -> Sampler:
    """The recipe's sampler, with measured latencies from a run or a file if they are given."""
    assert recipe.sampler is not None
    return recipe.sampler if latencies is None else WithLayerCost(recipe.sampler, latency_table(space, latencies))


def _recipe(
    choice: str | Path | Recipe | None,
    sampler: str | Mapping[str, Any] | Sampler | None,
    steps: int | None,
    space: Space,
) -> Recipe:
    """The recipe with its sampler and length."""
    from ...training.recipe import Recipe, read_recipe, recipe

    base = recipe(DEFAULT_RECIPE) if choice is None else choice if isinstance(choice, Recipe) else read_recipe(choice)
    if sampler is None:
        chosen = base.sampler or named_sampler(SAMPLERS[space.sharing])
    else:
        chosen = named_sampler(sampler) if isinstance(sampler, str | Mapping) else sampler
    length = base.length if steps is None else f"{steps} steps"
    return dataclasses.replace(base, sampler=chosen, length=length)


def hardware_of(device: str, precision: str, processes: int, threads: int | None) -> dict[str, Any]:
    """Check that this machine has the hardware.

    Threads are half the processors unless given: more of them wait for each other, badly so on a busy machine. They
    are recorded, since another number gives other roundings.

    Args:
        device: `cpu`, `cuda` or `auto`.
        precision: `no` (mixed precision), `fp16` or `bf16`.
        processes: Processes that share each batch; on GPUs, no more than there are.
        threads: Of each process.

    Returns:
        The settings as a run records them.
    """
    import torch

    if device not in DEVICES:
        raise UnknownNameError("device", device, DEVICES)
    if precision not in PRECISIONS:
        raise UnknownNameError("precision", precision, PRECISIONS)
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("the device cuda is not available on this machine: use cpu or auto")
    chosen = "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"
    if chosen == "cpu" and precision != "no":  # many times slower there, and on some processors an illegal instruction
        raise InputError(f"mixed precision is for GPUs, got precision={precision!r} on a CPU")
    if chosen == "cuda" and processes > torch.cuda.device_count():
        raise InputError(f"each process needs a GPU: there are {torch.cuda.device_count()}, got processes={processes}")
    several = {"processes": processes} if processes > 1 else {}
    threads = threads or max(1, (os.cpu_count() or 1) // 2 // processes)
    return {"threads": threads, "device": chosen, "precision": precision, **several}


def loading_of(data: str | Path, limit: int | None, seed: int) -> dict[str, Any]:
    """Arguments of `datasets.load`, as a run records them."""
    return {"source": full_source(data), "limit": limit, "seed": seed}


def full_source(data: str | Path) -> str:
    """A path in full, a name as it is."""
    return str(Path(data).resolve()) if Path(data).exists() else str(data)


def _batches(dataset: Dataset, recipe: Recipe, seed: int, world: int = 1) -> Any:
    from ...datasets.augment import parse
    from ...datasets.batches import Batches

    augment = parse(recipe.augment) if recipe.augment else None
    return Batches(dataset, "train", recipe.batch_size, seed, augment, world=world)
