"""`study`: train a grid of supernets over several seeds, measure them, judge the claims, write tables and a page."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from .. import catalog
from ..errors import InputError, SupernetError, UnknownNameError
from ..progress import Event, OnEvent, ignore
from ..runs.directory import same_settings
from ..runs.location import open_or_resume, resolve_directory
from ..runs.request import save_request
from ..runs.trust import opens_runs
from ..space import Space
from .measures.measure import Measure, Measured, read_measure
from .result import StudyResult, planned_result, write_result
from .study_file import Study, read_study
from .trainings import Cell, Training, cell_name, estimate_seconds, prepare, train_and_measure, trainings

STUDIES_FOLDER = Path("runs/studies")
TRAININGS_FOLDER = "trainings"  # beside the directory of a study


@opens_runs
def study(
    file: str | Path,
    *,
    data: str | Path | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    dry_run: bool = False,
    trust_code: bool = False,
    on_event: OnEvent | None = None,
) -> StudyResult:
    """Run the study of a TOML file.

    Trainings are kept beside the study, each under a digest of everything that matters to it, so that studies share
    them. An interrupted study continues where it stopped; a changed file trains only what is new.

    Args:
        file: The TOML file (docs/studies.md).
        data: Images, in place of those that the file names.
        workers: Processes; each trains one supernet at a time, with one thread.
        out: Directory of the page, the tables and `study.json`; by default `runs/studies/NAME`.
        dry_run: Check everything, estimate the time from a few steps, and write nothing.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        on_event: Receives events of the tasks `train` and `measure`: how far each variant and seed is, how many are
            done, and remarks on trainings that failed.

    Returns:
        What the study found; of a dry run, what it would do.
    """
    if workers < 1:
        raise InputError(f"workers must be at least 1, got {workers}")
    plan = read_study(file, None if data is None else str(data))
    measure = read_measure(plan.measure)
    identity = {"job": "study", "name": plan.name, "title": plan.title, "scale": plan.scale}
    path = resolve_directory(_own_directory(plan.name, identity) if out is None else out, plan.name, lambda _: False)
    cells, spaces = check_study(plan, measure, path.parent / TRAININGS_FOLDER)
    unique = {t.path: t for t in cells.values()} if measure.trains else {}
    todo = [t for t in unique.values() if not t.done]
    done = len(unique) - len(todo)
    if dry_run:
        seconds = estimate_seconds(todo[0]) * len(todo) / min(workers, len(todo)) if todo else None
        return planned_result(plan, [*unique.values()], done, seconds)
    if todo:
        prepare(todo[0])  # finds bad data before anything is written
    send = on_event or ignore
    with open_or_resume(path, plan.name, identity) as run:
        save_request(run, {"file": str(Path(file).resolve()), "data": data, "workers": workers})
        answers = train_and_measure(cells, spaces, measure, workers, send)
        failed = {cell_name(cell): a for cell, a in answers.items() if isinstance(a, str)}
        for name, reason in failed.items():
            send(Event("train", text=f"{name} failed: {reason}"))
        if len(failed) == len(answers):
            raise SupernetError(f"every training failed: {next(iter(failed.values()))}")
        measured = {cell: a for cell in cells if isinstance(a := answers[cell], Measured)}
        return write_result(run, plan, measure, cells, measured, failed, done)


def _own_directory(name: str, identity: Mapping[str, Any]) -> Path:
    """The default directory of a study; another study of the same name gets a number."""
    paths = (STUDIES_FOLDER / (name if i == 1 else f"{name}-{i}") for i in count(1))
    return next(p for p in paths if not p.exists() or same_settings(p, identity))


def check_study(plan: Study, measure: Measure, folder: Path) -> tuple[dict[Cell, Training], dict[str, Space]]:
    """Check everything that can be checked before the first training.

    Args:
        plan: The study.
        measure: Its measure.
        folder: Where its trainings are, or will be.

    Returns:
        The trainings by variant and seed, and the spaces by variant.
    """
    spaces = {}
    for variant in plan.variants:
        try:
            spaces[variant.name] = catalog.space(variant.training["space"])
            metrics = measure.check(spaces[variant.name])
        except InputError as error:
            raise InputError(f"variant {variant.name!r}: {error}") from None
        for c in plan.claims:
            if variant.name in (c.variant, c.other) and c.metric not in metrics:
                raise UnknownNameError(f"metric in the claim {c.text!r}:", c.metric, metrics)
    if not measure.trains:
        return {(name, 0): Training({}, folder) for name in spaces}, spaces
    return trainings(plan, folder), spaces
