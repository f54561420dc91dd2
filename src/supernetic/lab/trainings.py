"""The trainings of a study: kept under a digest of their arguments, so that studies share them, and run by workers."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from .. import __version__, catalog
from ..errors import InputError, SupernetError
from ..hardware import AUTO, CUDA, Hardware, settle_hardware
from ..jobs.train.fit_space import stabilised
from ..jobs.train.job import train
from ..jobs.train.prepare import DEFAULT_RECIPE, SAMPLERS, loading_of, prepare_training
from ..parallel.folders import map_in_folders
from ..progress import Event, OnEvent
from ..runs.directory import append_records, read_records
from ..runs.files import RESULT, SUPERNET, TIMINGS
from ..runs.trust import with_policy
from ..samplers.named import sampler as named_sampler
from ..samplers.named import settings_of
from ..space import Space
from .measures.measure import Measure, Measured, Report
from .study_file import Study, Variant

if TYPE_CHECKING:
    pass

KEY_LETTERS = 16
TRAINING_PERCENT = 90  # of the progress of a cell; the rest is measuring
PLAIN_ARGUMENTS = ("space", "stabiliser", "limit", "snapshots", "image_size", "valid")  # passed on as they are
ESTIMATE_STEPS = 4  # that an estimate of the time is made from

Cell = tuple[str, int]  # variant and seed


def cell_name(cell: Cell) -> str:
    """A variant and seed for people."""
    variant, seed = cell
    return f"{variant}, seed {seed}"


@dataclass(frozen=True)
class Training:
    """Arguments of `train`, and the run directory that they have or will have."""

    arguments: dict[str, Any]
    path: Path

    @property
    def done(self) -> bool:
        """Whether the training is finished."""
        return (self.path / SUPERNET).exists() and (self.path / RESULT).exists()

    @property
    def cpu_seconds(self) -> float:
        """Processor time of training and measuring so far, without what was lost to interruptions."""
        return float(sum(r.get("cpu_seconds", 0.0) for r in read_records(self.path / TIMINGS)))


def trainings(study: Study, folder: Path, device: str = AUTO, precision: str = "no") -> dict[Cell, Training]:
    """The trainings of a study; everything about them is checked except the data, which `prepare` reads.

    Args:
        study: The study.
        folder: Where trainings are kept.
        device: Of variants that name none.
        precision: The same.

    Returns:
        The trainings by variant and seed.
    """
    cells = {}
    for variant in study.variants:
        shared = _arguments(variant, study.data, device, precision)
        for seed in study.seeds:
            arguments = {**shared, "seed": seed}
            cells[variant.name, seed] = Training(arguments, folder / key_of(arguments))
    return cells


def key_of(arguments: Mapping[str, Any]) -> str:
    """A digest of everything that matters to the result of a training: equal for equal trainings."""
    text = json.dumps({**arguments, "version": __version__}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LETTERS]


def _arguments(variant: Variant, data: str, device: str, precision: str) -> dict[str, Any]:
    """Arguments of `train` with all defaults written out: the whole recipe, the settings of the sampler, one thread."""
    from ..datasets.augment import parse
    from ..training.recipe import recipe

    given = variant.training
    try:
        space = stabilised(catalog.space(given["space"]), given.get("stabiliser", ""))
        plain_recipe = {k: v for k, v in DEFAULT_RECIPE.items() if k not in ("title", "source")}
        settled = recipe(given.get("recipe") or plain_recipe)
        chosen = named_sampler(given["sampler"]) if "sampler" in given else settled.sampler
        chosen = chosen or named_sampler(SAMPLERS[space.sharing])
        parse(settled.augment)
        hardware = settle_hardware(given.get("device", device), given.get("precision", precision), 1, 1)
        for name in ("steps", "limit", "image_size"):
            if given.get(name, 1) < 1:
                raise InputError(f"{name} must be at least 1, got {given[name]}")
    except InputError as error:
        raise InputError(f"variant {variant.name!r}: {error}") from None
    source = str(Path(data).resolve()) if Path(data).exists() else data
    plain: dict[str, Any] = {k: v for k, v in given.items() if k in PLAIN_ARGUMENTS}
    written = {**settled.settings(), "title": "study", "source": "", "sampler": settings_of(chosen)}
    if "steps" in given:
        written["length"] = f"{given['steps']} steps"
    return {**plain, "data": source, "recipe": written, **hardware.settings()}


def prepare(training: Training) -> Any:
    """Prepare a training with its data, which finds what else could be wrong with it."""
    from ..training.recipe import recipe

    a = training.arguments
    hardware = Hardware.from_settings(a)
    loading = loading_of(a["data"], a.get("limit"), a["seed"], a.get("image_size"), a.get("valid"))
    stabiliser = a.get("stabiliser", "")
    return prepare_training(a["space"], loading, hardware=hardware, recipe=recipe(a["recipe"]), stabiliser=stabiliser)


def estimate_seconds(training: Training) -> float:
    """Seconds that a training would take, from its first steps, which are timed now."""
    job = prepare(training)
    steps = job.steps(None)
    next(steps)
    began = perf_counter()
    timed_steps = sum(1 for _ in islice(steps, ESTIMATE_STEPS))
    return (perf_counter() - began) / max(1, timed_steps) * float(job.settings["steps"]) if timed_steps else 0.0


# --- in workers -------------------------------------------------------------------------------------------------------


def train_and_measure(
    cells: Mapping[Cell, Training],
    spaces: Mapping[str, Space],
    measure: Measure,
    workers: int,
    on_event: OnEvent,
) -> dict[Cell, Measured | str]:
    """Train what is not trained yet, and measure everything.

    Args:
        cells: The trainings by variant and seed.
        spaces: The spaces by variant.
        measure: What to measure.
        workers: Worker processes.
        on_event: Receives the progress: the task is `train` for new trainings and `measure` for finished ones.

    Returns:
        By variant and seed, what was measured, or a text that says why the training failed.
    """
    seeds = list(dict.fromkeys(seed for _, seed in cells))
    order = sorted(cells, key=lambda c: (cells[c].done, seeds.index(c[1])))  # all variants of a seed, then the next
    if not measure.trains:
        return {c: measure(cells[c].path, spaces[c[0]], lambda *_: None) for c in order}
    items = [(cells[c], measure, spaces[c[0]]) for c in order]
    device = next((d for c in order if (d := cells[c].arguments["device"]) == CUDA), "cpu")  # of all GPUs, if any
    answers = map_in_folders(
        with_policy(_in_folder), items, [cells[c].path for c in order], workers, _progress(order, cells, on_event),
        Hardware(device).environments(), done=RESULT, given_up=lambda _, reason: f"given up: {reason}",
    )  # fmt: skip
    return {c: a if isinstance(a, str) else Measured(**a) for c, a in zip(order, answers, strict=True)}


def _in_folder(item: tuple[tuple[Training, Measure, Space], Path], report: Report) -> dict[str, Any] | str:
    """The work on one training, wherever its folder is; the answer as plain data."""
    (training, measure, space), folder = item
    answer = train_and_measure_one((replace(training, path=folder), measure, space), report)
    return answer if isinstance(answer, str) else asdict(answer)


def _progress(order: Sequence[Cell], cells: Mapping[Cell, Training], on_event: OnEvent) -> Callable[..., None]:
    """Turns the progress of workers into events: of each cell, in percent, and of how many cells are done."""
    tasks = ["measure" if cells[c].done else "train" for c in order]
    done_cells: Counter[str] = Counter()

    def progress(number: int, done: int, total: int) -> None:
        task = tasks[number]
        on_event(Event(task, item=cell_name(order[number]), done=done, total=total))
        if done == total:
            done_cells[task] += 1
            on_event(Event(task, done=done_cells[task], total=tasks.count(task)))

    return progress


def train_and_measure_one(item: tuple[Training, Measure, Space], report: Report) -> Measured | str:
    """Train one supernet if that was not done yet, then measure it; runs in a worker.

    Args:
        item: The training, the measure, and the space of the variant.
        report: Called with the progress in percent.

    Returns:
        What was measured, or a text that says why the training failed: the others go on.
    """
    training, measure, space = item
    answer: Measured | str
    try:
        with locked(training.path):
            if not training.done:
                with recorded_time(training.path, "train"):
                    _train(training, report)
            with recorded_time(training.path, "measure"):
                rest = 99 - TRAINING_PERCENT
                answer = measure(
                    training.path, space, lambda n, of: report(TRAINING_PERCENT + rest * n // max(1, of), 100)
                )
    except SupernetError as error:
        answer = str(error)
    report(100, 100)
    return answer


def _train(training: Training, report: Report) -> None:
    from ..training.recipe import recipe

    def watch(event: Event) -> None:
        if event.total:
            report(TRAINING_PERCENT * event.done // event.total, 100)

    arguments = {**training.arguments, "recipe": recipe(training.arguments["recipe"])}
    train(**arguments, out=training.path, on_event=watch)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let only one process at a time work on a training; another one that needs it waits, and then finds it done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        yield


@contextmanager
def recorded_time(path: Path, task: str) -> Iterator[None]:
    """Record the processor time of a task in the run, if it is a second or more."""
    began = process_time()
    yield
    seconds = process_time() - began
    if seconds >= 1:
        append_records(path / TIMINGS, [{"task": task, "cpu_seconds": round(seconds, 1)}])
