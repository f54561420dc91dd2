"""`study`: trainings of a grid times seeds, what is measured on them, claims, tables and one page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from .. import catalog
from ..errors import InputError, SupernetError, UnknownNameError
from ..runs.directory import same_settings
from ..runs.location import open_or_resume, resolve_directory
from ..runs.request import save_request
from ..runs.trust import opens_runs
from ..space import Space
from .measures.measure import Measure, Measured, read_measure
from .result import StudyResult, planned, write
from .study_file import Study, read_study
from .trainings import Cell, Training, estimate, measured, require_data, trainings

HOME, TRAININGS = Path("runs/studies"), "trainings"


@opens_runs
def study(
    file: str | Path,
    *,
    data: str | Path | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    dry_run: bool = False,
    tell: Callable[[str], None] | None = None,
    trust_code: bool = False,
) -> StudyResult:
    """Run the study of a TOML file: train what is not trained yet, measure, judge the claims, write tables and a page.

    `data` takes the place of the file's. Each of `workers` processes trains one supernet at a time, with one thread.
    The page, tables and `study.json` go to `out`, by default `runs/studies/NAME`; trainings go to `trainings` beside
    it, each under a name that says all that matters to it, so that studies share them. An interrupted study goes on
    where it was; a changed file trains only what it has not yet. With `dry_run` everything is checked, and the time
    estimated from a few steps; nothing is written.
    """
    asked = {"file": str(Path(file).resolve()), "data": data, "workers": workers}
    if workers < 1:
        raise InputError(f"there must be a worker, got workers={workers}")
    plan = read_study(file, None if data is None else str(data))
    measure = read_measure(plan.measure)
    identity = {"job": "study", "name": plan.name, "title": plan.title, "scale": plan.scale}
    path = resolve_directory(_home(plan.name, identity) if out is None else out, plan.name, lambda _: False)
    items, spaces = checked(plan, measure, path.parent / TRAININGS)
    unique = {t.path: t for t in items.values()} if measure.trains else {}
    todo = [t for t in unique.values() if not t.done]
    done = len(unique) - len(todo)
    if dry_run:
        seconds = estimate(todo[0]) * len(todo) / min(workers, len(todo)) if todo else None
        return planned(plan, [*unique.values()], done, seconds)
    if todo:
        require_data(todo[0])
    with open_or_resume(path, plan.name, identity) as run:
        save_request(run, asked)
        found = measured(items, spaces, measure, workers, tell or (lambda _: None))
        failed = {f"{v}, seed {s}": m for (v, s), m in found.items() if isinstance(m, str)}
        if len(failed) == len(found):
            raise SupernetError(f"every training failed: {next(iter(failed.values()))}")
        known = {cell: m for cell in items if isinstance(m := found[cell], Measured)}
        return write(run, plan, measure, items, known, failed, done)


def _home(name: str, identity: Mapping[str, Any]) -> Path:
    """A directory of the study's own: another study of that name gets a number."""
    names = (HOME / (name if i == 1 else f"{name}-{i}") for i in count(1))
    return next(p for p in names if not p.exists() or same_settings(p, identity))


def checked(plan: Study, measure: Measure, folder: Path) -> tuple[dict[Cell, Training], dict[str, Space]]:
    """Trainings and spaces, after everything was checked that can be before the first step."""
    spaces = {}
    for variant in plan.variants:
        try:
            spaces[variant.name] = catalog.space(variant.training["space"])
            known = measure.check(spaces[variant.name])
        except InputError as error:
            raise InputError(f"variant {variant.name!r}: {error}") from None
        for c in plan.claims:
            if variant.name in (c.variant, c.other) and c.metric not in known:
                raise UnknownNameError(f"metric in the claim {c.text!r}:", c.metric, known)
    if not measure.trains:
        return {(name, 0): Training({}, folder) for name in spaces}, spaces
    return trainings(plan, folder), spaces
