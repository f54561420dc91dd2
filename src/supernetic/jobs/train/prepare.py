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

from ...errors import InputError
from ...families.efficientnet_lite import PRETRAINED
from ...hardware import Hardware
from ...progress import Event, OnEvent, ignore
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
    def hardware(self) -> Hardware:
        """Where all of it runs."""
        return Hardware.from_settings(self.settings)

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

    def fit(self, run: Run, send: OnEvent) -> None:
        """Train, from where the run stands; the weights are put in place at the end."""
        from ...training.checkpoint import read

        for p in self._in_processes(run):
            text = f"loss {p.loss:.3f}, {p.images_per_s:,.0f} images/s"
            send(Event(TRAIN, text, done=p.step, total=p.steps))
        if self.hardware.processes > 1:
            self.supernet.load_state_dict(read(run.path / SUPERNET)[0])

    def _in_processes(self, run: Run) -> Iterator[Progress]:
        """The steps, taken here or by several processes together."""
        from ...parallel.ranks import launch_ranks

        processes = self.hardware.processes
        if processes == 1:
            return self.steps(run)
        task = self.space, self.settings, self.recipe, run.path, run.lock, current_policy()
        return launch_ranks(_one_of_several, processes, *task, keep_open=[run.lock])

    def steps(self, run: Run | None) -> Iterator[Progress]:
        """The steps themselves. Of several processes that take them together, one has the run."""
        import torch

        from ...training.checkpoint import write
        from ...training.devices import accelerator_for
        from ...training.loop import fit

        settings, recipe, hardware = self.settings, self.recipe, self.hardware
        together = accelerator_for(hardware)
        torch.set_num_threads(hardware.threads)
        if run:
            run.write(SPLITS, json.dumps(self.dataset.split_record()) + "\n")
        steps = int(settings["steps"])
        log_every = max(1, min(50, steps // MIN_RECORDS))
        device = together.device if together else hardware.device
        rank, world = (together.process_index, together.num_processes) if together else (0, 1)
        self.supernet.to(device)
        batches = dataclasses.replace(self.batches(), device=device, rank=rank, world=world)
        yield from fit(
            self.supernet, batches, self.sampler, recipe, run,
            seed=self.seed, name=TASK, log_every=log_every,
            checkpoint_every=min(1000, max(log_every, steps // MIN_RECORDS)),
            snapshots=settings.get("snapshots", ()), accelerator=together,
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
    start, weights = settings.get("start"), recipe.initial_weights
    supernet = untrained(space, settings["stabiliser"], settings["seed"], start, weights)
    training = PreparedTraining(space, supernet, load(**settings["load"]), recipe, settings, ())
    yield from training.steps(Run(path, settings, lock) if os.environ["RANK"] == "0" else None)


def prepare_training(
    space: str | Space,
    loading: Mapping[str, Any],
    *,
    hardware: Hardware,
    seed: int | None = None,
    dataset: Dataset | None = None,
    sampler: str | Mapping[str, Any] | Sampler | None = None,
    recipe: str | Path | Mapping[str, Any] | Recipe | None = None,
    steps: int | None = None,
    stabiliser: str = "",
    latency: str | Path | None = None,
    start: str | Path | None = None,
    balance: str = "none",
    classes_alike: bool = False,
    on_event: OnEvent = ignore,
) -> PreparedTraining:
    """Everything about a training, checked; nothing is written.

    Args:
        space: The space; as text, the data complete it.
        loading: Arguments of `datasets.load`: source, limit, seed.
        hardware: Where it runs; of one process, the supernet is there already.
        seed: Of the training; by default that of the data's splits.
        dataset: The data, if they are loaded already, or their outline.
        sampler: How paths are drawn; by default the recipe's, else the one that goes with the space's sharing.
        recipe: Training settings: a file, what one would hold, a recipe, or None for a modest one.
        steps: Length in place of the recipe's.
        stabiliser: What takes the place of skips, such as `skip` or `skip:identity`.
        latency: A run or file with measured latencies, for samplers with budgets in milliseconds.
        start: A finished run of the same space to take the weights from, or the name of a pretrained network.
        balance: How classes of unequal size are balanced: `none`, `weights`, `sampling` or `auto`.
        classes_alike: Whether networks are compared by a metric in which every class counts alike, for `auto`.
        on_event: Receives what is done with images that do not fit into memory.

    Returns:
        The supernet with its data and recipe, and notes on what was filled in.
    """
    from ...datasets import outline
    from ...training.loop import plan_for

    loading, seed = dict(loading), int(loading["seed"] if seed is None else seed)
    dataset = outline(**loading) if dataset is None else dataset
    fitted, notes = fit_space(space, dataset)
    fitted = stabilised(fitted, stabiliser)
    parent = None if start is None else str(start) if str(start) in PRETRAINED else str(Path(start).resolve())
    settled = _recipe(recipe, sampler, steps, fitted)
    supernet = untrained(fitted, stabiliser, seed, parent, settled.initial_weights)
    dataset, more = _as_networks_take_it(dataset, supernet, fitted, loading, on_event)
    settled, told = balanced(settled, balance, dataset, classes_alike=classes_alike)
    batches = _batches(dataset, settled, seed, hardware.processes)
    latencies = None if latency is None else str(Path(latency).resolve())
    schedule = plan_for(supernet, batches, _with_latencies(settled, supernet.space, latencies), settled)
    settings = {
        "seed": seed,
        "steps": schedule.steps,
        **hardware.settings(),
        "stabiliser": stabiliser,
        "latencies": latencies,
        "start": parent,
        "space": space_record(space, fitted),
        "load": loading,
        "data": dataset.summary(),
        "recipe": settled.settings(),
    }
    if hardware.processes == 1:
        supernet.to(hardware.device)
    return PreparedTraining(fitted, supernet, dataset, settled, settings, (*notes, *more, *told))


def _as_networks_take_it(
    dataset: Dataset, supernet: Supernet, space: Space, loading: dict[str, Any], on_event: OnEvent
) -> tuple[Dataset, list[str]]:
    """The data at the networks' resolution and channels, `loading` completed if an outline differs; decoded once."""
    from ...datasets import load
    from ...datasets.stored import is_outline

    blueprint = supernet.space.blueprint(tuple(space.sample(np.random.default_rng(0), 1)[0].tolist()))
    if blueprint.classes < len(dataset.classes):
        raise InputError(f"{space.name} has {blueprint.classes} classes, {dataset.name} has {len(dataset.classes)}")
    single = len(supernet.resolutions) == 1
    resolution = next(iter(supernet.resolutions)) if single else dataset.resolution
    asked = loading.get("resolution")
    if asked is not None and asked != resolution:
        raise InputError(f"networks of {space.name} see images of {resolution} pixels, got an image size of {asked}")
    if (resolution, blueprint.in_channels) == (dataset.resolution, dataset.channels):
        loaded = load(**loading, on_event=on_event) if is_outline(dataset) else dataset
        if loaded.channels == blueprint.in_channels:  # else the header of an image has promised other colours
            return loaded, []
    loading |= {"resolution": resolution, "gray": blueprint.in_channels == 1}
    colour = "gray" if loading["gray"] else "colour"
    return load(**loading, on_event=on_event), [f"images are converted to {resolution}x{resolution}, {colour}"]


def _with_latencies(recipe: Recipe, space: Space, latencies: str | None) -> Sampler:
    """The recipe's sampler, with measured latencies from a run or a file if they are given."""
    assert recipe.sampler is not None
    return recipe.sampler if latencies is None else WithLayerCost(recipe.sampler, latency_table(space, latencies))


def _recipe(
    choice: str | Path | Mapping[str, Any] | Recipe | None,
    sampler: str | Mapping[str, Any] | Sampler | None,
    steps: int | None,
    space: Space,
) -> Recipe:
    """The recipe with its sampler and length."""
    from ...training.recipe import Recipe, read_recipe, recipe

    if isinstance(choice, Recipe):
        base = choice
    else:
        table = DEFAULT_RECIPE if choice is None else choice
        base = recipe(table) if isinstance(table, Mapping) else read_recipe(table)
    if base.fixed_bn:
        raise InputError("recipe: fixed_bn is for single networks: those of a supernet have no statistics in common")
    if sampler is None:
        chosen = base.sampler or named_sampler(SAMPLERS.get(space.sharing, "uniform"))
    else:
        chosen = named_sampler(sampler) if isinstance(sampler, str | Mapping) else sampler
    length = base.length if steps is None else f"{steps} steps"
    return dataclasses.replace(base, sampler=chosen, length=length)


def balanced(
    recipe: Recipe, balance: str, dataset: Dataset, *, classes_alike: bool = False
) -> tuple[Recipe, tuple[str, ...]]:
    """A recipe with classes balanced as requested, and a note if that was decided here."""
    from ...datasets.balance import choose_balance

    way, note = choose_balance(balance, dataset, recipe.balance, classes_alike=classes_alike)
    return dataclasses.replace(recipe, balance=way), note  # type: ignore[arg-type]


def loading_of(
    data: str | Path,
    limit: int | None,
    seed: int,
    image_size: int | None = None,
    valid: float | None = None,
    skip_bad: bool = False,
    calibrate: float | None = None,
) -> dict[str, Any]:
    """Arguments of `datasets.load`, as a run records them: images that cannot be read by their names, found once."""
    skipped = skipped_files(data) if skip_bad else {}
    options = image_options(image_size, valid) | ({} if calibrate is None else {"calibrate": calibrate})
    return {"source": full_source(data), "limit": limit, "seed": seed, **options, **skipped}


def pretrained_options(start: str | Path | None) -> dict[str, Any]:
    """Arguments of `datasets.load` that a pretrained network needs: its preprocessing; none for the name of a run."""
    if str(start) not in PRETRAINED:
        return {}
    from ...pretrained.efficientnet_lite import MEAN, STD

    return {"normalisation": [list(MEAN), list(STD)], "gray": False}


def skipped_files(data: str | Path) -> dict[str, Any]:
    """The option that leaves out images that cannot be read; it is recorded only if there are some."""
    from ...datasets.loading import unreadable_files

    found = unreadable_files(data)
    return {"skip_bad": list(found)} if found else {}


def image_options(image_size: int | None, valid: float | None) -> dict[str, Any]:
    """Those that are recorded only if they are given."""
    options = {"resolution": image_size, "valid": valid}
    return {name: value for name, value in options.items() if value is not None}


def full_source(data: str | Path) -> str:
    """A path in full, a name as it is."""
    return str(Path(data).resolve()) if Path(data).exists() else str(data)


def _batches(dataset: Dataset, recipe: Recipe, seed: int, world: int = 1) -> Any:
    from ...datasets.augment import parse
    from ...datasets.batches import Batches

    augment = parse(recipe.augment) if recipe.augment else None
    sampling = recipe.balance == "sampling"
    return Batches(dataset, "train", recipe.batch_size, seed, augment, world=world, balanced=sampling)
