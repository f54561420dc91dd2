"""The trainings of a study: kept by what they are, so that studies share them, and done by a queue of workers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic, perf_counter, process_time
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from .. import __version__, catalog
from ..errors import InputError, SupernetError
from ..jobs.train.fit_space import stabilised
from ..jobs.train.job import train
from ..jobs.train.prepare import DEFAULT, SAMPLERS, hardware_of, prepare_training
from ..jobs.train.supernet_run import RESULT, WEIGHTS
from ..parallel.workers import map_in_workers
from ..runs.directory import TIMINGS, append_records, read_records
from ..runs.trust import with_policy
from ..samplers.named import sampler as named_sampler
from ..samplers.named import settings_of
from ..space import Space
from ..text import duration
from .measures.measure import Measure, Measured, Report
from .study_file import Study, Variant

if TYPE_CHECKING:
    from ..training.loop import Progress

LETTERS = 16  # of a key
TRAINED = 900  # of 1,000: the part of an item's progress that is training
EVERY = 20.0  # seconds between two lines about progress
EARLY = 0.02  # of the work: before that, nothing is said about the time left
TRIED = 4  # steps that an estimate is made from

Cell = tuple[str, int]  # variant and seed


@dataclass(frozen=True)
class Training:
    """Arguments of `train` and the run that it has, or will have."""

    arguments: dict[str, Any]
    path: Path

    @property
    def done(self) -> bool:
        """Whether it is finished."""
        return (self.path / WEIGHTS).exists() and (self.path / RESULT).exists()

    @property
    def cpu_seconds(self) -> float:
        """What training and scoring took so far; what was lost to interruptions is not in it."""
        return float(sum(r.get("cpu_seconds", 0.0) for r in read_records(self.path / TIMINGS)))


def trainings(study: Study, folder: Path) -> dict[Cell, Training]:
    """By variant and seed; everything about them is checked but the data, which `require_data` reads."""
    found = {}
    for variant in study.variants:
        arguments = _arguments(variant, study.data)
        for seed in study.seeds:
            asked = {**arguments, "seed": seed}
            found[variant.name, seed] = Training(asked, folder / key_of(asked))
    return found


def key_of(arguments: Mapping[str, Any]) -> str:
    """Equal for trainings whose results are equal: a digest of all that matters to them."""
    text = json.dumps({**arguments, "version": __version__}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:LETTERS]


def _arguments(variant: Variant, data: str) -> dict[str, Any]:
    """Arguments of `train` with every default said: recipes in full, the sampler's settings, one thread."""
    from ..datasets.augment import parse
    from ..training.recipe import recipe

    said = variant.training
    try:
        space = stabilised(catalog.space(said["space"]), said.get("stabiliser", ""))
        settled = recipe(said.get("recipe") or {k: v for k, v in DEFAULT.items() if k not in ("title", "source")})
        chosen = named_sampler(said["sampler"]) if "sampler" in said else settled.sampler
        chosen = chosen or named_sampler(SAMPLERS[space.sharing])
        parse(settled.augment)
        hardware = hardware_of(said.get("device", "auto"), said.get("precision", "no"), 1)
        for name in ("steps", "limit"):
            if said.get(name, 1) < 1:
                raise InputError(f"{name} must be at least 1, got {said[name]}")
    except InputError as error:
        raise InputError(f"variant {variant.name!r}: {error}") from None
    source = str(Path(data).resolve()) if Path(data).exists() else data
    plain: dict[str, Any] = {k: v for k, v in said.items() if k in ("space", "stabiliser", "limit", "snapshots")}
    written = {**settled.settings(), "title": "study", "source": "", "sampler": settings_of(chosen)}
    if "steps" in said:
        written["length"] = f"{said['steps']} steps"
    return {**plain, "data": source, "recipe": written, "threads": 1, **hardware}


def require_data(training: Training) -> Any:
    """The training, prepared with its data, which finds what else could be wrong with it."""
    from ..training.recipe import recipe

    a = training.arguments
    hardware = {k: a[k] for k in ("threads", "device", "precision")}
    return prepare_training(
        a["space"], a["data"], None, recipe(a["recipe"]), None, a.get("stabiliser", ""), a.get("limit"),
        hardware, a["seed"],
    )  # fmt: skip


def estimate(training: Training) -> float:
    """Seconds that it would take, from its first steps, timed now."""
    job = require_data(training)
    steps = job.steps(None)
    next(steps)
    began = perf_counter()
    taken = sum(1 for _ in islice(steps, TRIED))
    return (perf_counter() - began) / max(1, taken) * float(job.settings["steps"]) if taken else 0.0


# --- the queue --------------------------------------------------------------------------------------------------------


def measured(
    items: Mapping[Cell, Training],
    spaces: Mapping[str, Space],
    measure: Measure,
    workers: int,
    tell: Callable[[str], None],
) -> dict[Cell, Measured | str]:
    """What was measured for each variant and seed, or why it failed; trainings that are not finished are done first."""
    seeds = list(dict.fromkeys(seed for _, seed in items))
    cells = sorted(items, key=lambda c: (items[c].done, seeds.index(c[1])))  # all variants of a seed, then the next
    jobs = [(items[c], measure, spaces[c[0]]) for c in cells]
    if not measure.trains:
        return {c: measure(items[c].path, spaces[c[0]], lambda *_: None) for c in cells}
    watch = Watch(cells, [items[c].done for c in cells], tell)
    answers = map_in_workers(with_policy(work), jobs, workers, watch)
    return dict(zip(cells, answers, strict=True))


class Watch:
    """Tells how far the queue is, and how long it may take still."""

    def __init__(self, cells: Sequence[Cell], done: Sequence[bool], tell: Callable[[str], None]) -> None:
        self.cells, self.tell = cells, tell
        self.weights = [0.02 if d else 1.0 for d in done]  # finished trainings are only read
        self.parts = [0.0] * len(cells)
        self.began = self.last = monotonic()

    def __call__(self, item: int, done: int, total: int) -> None:
        """An item has come so far."""
        ended = done == total and self.parts[item] < 1
        self.parts[item] = done / total
        now = monotonic()
        if ended or now - self.last >= EVERY:
            self.last = now
            share = sum(w * p for w, p in zip(self.weights, self.parts, strict=True)) / sum(self.weights)
            left = f", {duration((now - self.began) / share * (1 - share))} left" if share >= EARLY else ""
            finished = sum(p >= 1 for p in self.parts)
            variant, seed = self.cells[item]
            what = f"{variant}, seed {seed}: " + ("done" if ended else f"{100 * self.parts[item]:.0f} %")
            self.tell(f"{finished} of {len(self.cells)} trainings, {100 * share:.0f} %{left} ({what})")


def work(item: tuple[Training, Measure, Space], report: Report) -> Measured | str:
    """Train if that is still to be done, then measure; what goes wrong with one training is no matter of the others."""
    training, measure, space = item
    found: Measured | str
    try:
        with held(training.path):
            if not training.done:
                with timed(training.path, "train"):
                    _train(training, report)
            with timed(training.path, "measure"):
                found = measure(
                    training.path, space, lambda n, of: report(TRAINED + (999 - TRAINED) * n // max(1, of), 1000)
                )
    except SupernetError as error:
        found = str(error)
    report(1000, 1000)
    return found


def _train(training: Training, report: Report) -> None:
    from ..training.recipe import recipe

    def watch(steps: Any) -> Iterator[Progress]:
        for p in steps:
            report(TRAINED * p.step // p.steps, 1000)
            yield p

    arguments = {**training.arguments, "recipe": recipe(training.arguments["recipe"])}
    train(**arguments, out=training.path, progress=watch)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Only one process at a time works on a training: another that needs it too waits, and then finds it done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        yield


@contextmanager
def timed(path: Path, task: str) -> Iterator[None]:
    """Records the processor's seconds that something took, unless it was next to nothing."""
    began = process_time()
    yield
    seconds = process_time() - began
    if seconds >= 1:
        append_records(path / TIMINGS, [{"task": task, "cpu_seconds": round(seconds, 1)}])
