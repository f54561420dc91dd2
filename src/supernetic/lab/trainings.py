"""The trainings of a study: kept under a digest of their arguments, so that studies share them, and run by workers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from filelock import FileLock

from .. import __version__, catalog
from ..errors import InputError, SupernetError
from ..hardware import AUTO, CUDA, Hardware, settle_hardware
from ..jobs.train.fit_space import stabilised
from ..jobs.train.job import train
from ..jobs.train.prepare import DEFAULT_RECIPE, SAMPLERS, loading_of, prepare_training
from ..parallel.folders import map_in_folders
from ..parallel.workers import kept_workers, on_cluster
from ..progress import Event, OnEvent
from ..runs.directory import append_records, read_records, refuse_link
from ..runs.files import RESULT, SUPERNET, TIMINGS
from ..runs.trust import with_policy
from ..samplers.named import sampler as named_sampler
from ..samplers.named import settings_of
from ..space import Space
from .measures.measure import Measure, Measured, Report, Scoring
from .study_file import Study, Variant

KEY_LETTERS = 16
PLAIN_ARGUMENTS = (  # passed on as they are
    "space", "stabiliser", "limit", "snapshots", "image_size", "valid", "calibrate", "split_seed",
)  # fmt: skip

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
    for path in {training.path for training in cells.values()}:
        refuse_link(path)
        refuse_link(_lock_of(path))
    return cells


def key_of(arguments: Mapping[str, Any]) -> str:
    """A digest of everything that matters to the result of a training: equal for equal trainings."""
    text = json.dumps({**arguments, "version": __version__}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LETTERS]


def _arguments(variant: Variant, data: str, device: str, precision: str) -> dict[str, Any]:
    """Arguments of `train` with all defaults written out: the whole recipe, the settings of the sampler, one thread."""
    from ..training.recipe import recipe

    given = variant.training
    try:
        space = stabilised(catalog.space(given["space"]), given.get("stabiliser", ""))
        plain_recipe = {k: v for k, v in DEFAULT_RECIPE.items() if k not in ("title", "source")}
        settled = recipe(given.get("recipe") or plain_recipe)
        chosen = named_sampler(given["sampler"]) if "sampler" in given else settled.sampler
        chosen = chosen or named_sampler(SAMPLERS[space.sharing])
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
    split_seed = a.get("split_seed", a["seed"])
    loading = loading_of(
        a["data"], a.get("limit"), split_seed, a.get("image_size"), a.get("valid"),
        calibrate=a.get("calibrate"),
    )  # fmt: skip
    return prepare_training(
        a["space"], loading,
        hardware=hardware, seed=a["seed"], recipe=recipe(a["recipe"]), stabiliser=a.get("stabiliser", ""),
    )  # fmt: skip


# --- in workers -------------------------------------------------------------------------------------------------------


def train_and_measure(
    cells: Mapping[Cell, Training],
    spaces: Mapping[str, Space],
    measure: Measure,
    workers: int,
    on_event: OnEvent,
) -> dict[Cell, Measured | str]:
    """Train what is not trained yet, and measure everything.

    All workers train, then all score, then all measure. Where there are more workers than supernets to score, several
    share the networks of one.

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
    order = sorted(cells, key=lambda c: seeds.index(c[1]))  # all variants of a seed, then the next
    if not measure.trains:
        return {c: measure(cells[c].path, spaces[c[0]], lambda *_: None) for c in order}
    device = next((d for c in order if (d := cells[c].arguments["device"]) == CUDA), "cpu")  # of all GPUs, if any

    def share_out(
        work: Callable[[Any, Report], Any], items: Sequence[Any], folders: Sequence[Path], watch: Callable[..., None]
    ) -> list[Any]:
        return map_in_folders(
            with_policy(work), items, folders, workers, watch, Hardware(device).environments(),
            done=RESULT, given_up=lambda _, reason: f"given up: {reason}",
        )  # fmt: skip

    with kept_workers():
        todo = [c for c in order if not cells[c].done]
        told = share_out(
            train_one, [cells[c] for c in todo], [cells[c].path for c in todo], _progress("train", todo, on_event)
        )
        failed = {c: text for c, text in zip(todo, told, strict=True) if text}
        left = [c for c in order if c not in failed]
        parts = _parts([(c, cells[c], spaces[c[0]]) for c in left], measure, 1 if on_cluster() else workers)
        watch = _progress("measure", [c for c, *_ in parts], on_event, counts=False)
        told = share_out(score_part, [scoring for *_, scoring in parts], [path for _, path, _ in parts], watch)
        failed |= {c: text for (c, *_), text in zip(parts, told, strict=True) if text}
        left = [c for c in order if c not in failed]
        items = [(measure, spaces[c[0]]) for c in left]
        told = share_out(measure_one, items, [cells[c].path for c in left], _progress("measure", left, on_event))
    answers = {c: a if isinstance(a, str) else Measured(**a) for c, a in zip(left, told, strict=True)}
    return {c: failed[c] if c in failed else answers[c] for c in order}


def _parts(
    supernets: Sequence[tuple[Cell, Training, Space]], measure: Measure, workers: int
) -> list[tuple[Cell, Path, Scoring]]:
    """What is to be scored, each part by one worker; networks that begin alike stay together."""
    once = {training.path: (cell, space) for cell, training, space in supernets}
    scorings = [(cell, path, s) for path, (cell, space) in once.items() for s in measure.scorings(space, path)]
    shares = -(-workers // max(1, len(scorings)))
    return [
        (cell, path, scoring._replace(archs=[tuple(a) for a in archs.tolist()]))
        for cell, path, scoring in scorings
        for archs in np.array_split(np.array(sorted(scoring.archs), dtype=np.int8), shares)
        if len(archs)
    ]


def _progress(task: str, order: Sequence[Cell], on_event: OnEvent, *, counts: bool = True) -> Callable[..., None]:
    """Turns the progress of workers into events: of each cell, in percent, and of how many cells are done."""
    finished = 0

    def progress(number: int, done: int, total: int) -> None:
        nonlocal finished
        if not counts:  # measuring is not over when everything is scored
            done = min(done, total - 1)
        on_event(Event(task, item=cell_name(order[number]), done=done, total=total))
        if done == total:
            finished += 1
            on_event(Event(task, done=finished, total=len(order)))

    return progress


def train_one(item: tuple[Training, Path], report: Report) -> str:
    """Train one supernet, in a worker.

    Args:
        item: The training, and its folder where the worker is.
        report: Called with the progress in percent.

    Returns:
        Why it failed, or nothing: the others go on.
    """
    asked, folder = item
    training, reason = replace(asked, path=folder), ""
    try:
        with locked(folder):
            if not training.done:  # another variant, or another study, may have asked for the same
                with recorded_time(folder, "train"):
                    _train(training, report)
    except SupernetError as error:
        reason = str(error)
    report(100, 100)
    return reason


def score_part(item: tuple[Scoring, Path], report: Report) -> str:
    """Score some networks with a supernet, in a worker, on the device that it was trained on; the run keeps the scores.

    Args:
        item: The networks, and the folder of the training.
        report: Called with the progress in percent.

    Returns:
        Why it failed, or nothing.
    """
    from ..jobs.train.score import score

    scoring, folder = item
    reason = ""
    try:
        with recorded_time(folder, "measure"):
            score(
                folder, scoring.space, scoring.archs, **scoring.how,
                progress=lambda n, of: report(99 * n // max(1, of), 100),
            )  # fmt: skip
    except SupernetError as error:
        reason = str(error)
    report(100, 100)
    return reason


def measure_one(item: tuple[tuple[Measure, Space], Path], report: Report) -> dict[str, Any] | str:
    """Measure one supernet whose networks are scored, in a worker.

    Args:
        item: The measure and the space of the variant, and the folder of the training.
        report: Called with the progress in percent.

    Returns:
        What was measured, as plain data, or a text that says why it failed.
    """
    (measure, space), folder = item
    answer: dict[str, Any] | str
    try:
        with locked(folder), recorded_time(folder, "measure"):
            answer = asdict(measure(folder, space, lambda n, of: report(99 * n // max(1, of), 100)))
    except SupernetError as error:
        answer = str(error)
    report(100, 100)
    return answer


def _train(training: Training, report: Report) -> None:
    from ..training.recipe import recipe

    def watch(event: Event) -> None:
        if event.total:
            report(99 * event.done // event.total, 100)

    arguments = {**training.arguments, "recipe": recipe(training.arguments["recipe"])}
    train(**arguments, out=training.path, on_event=watch)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let only one process at a time work on a training; another one that needs it waits, and then finds it done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(_lock_of(path)):
        yield


def _lock_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


@contextmanager
def recorded_time(path: Path, task: str) -> Iterator[None]:
    """Record the processor time of a task in the run, if it is a second or more."""
    began = process_time()
    yield
    seconds = process_time() - began
    if seconds >= 1:
        append_records(path / TIMINGS, [{"task": task, "cpu_seconds": round(seconds, 1)}])
