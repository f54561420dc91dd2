"""`resume`: go on with a run after a kill, a reboot or Ctrl-C, whatever job it is of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from ..errors import InputError, RunError
from ..jobs.finish.place import unfinished
from ..progress import OnEvent
from ..reading import exists
from ..result import Result
from ..runs.directory import SETTINGS, naming_damage, read_settings, require_settings
from ..runs.files import RESULT
from ..runs.trust import following, opens_runs
from ..tracking import Track, Tracker, require_trackers

# By job: its request; its class, or the function that does what a request says; the reader of a finished run. A study
# has no reader: its file may have changed. Imported on use.
JOBS = {
    "train": ("jobs.train.request:TrainRequest", "jobs.train.job:TrainJob", "jobs.train.job:read_result"),
    "search": ("jobs.search.request:SearchRequest", "jobs.search.job:SearchJob", "jobs.search.result:read_result"),
    "table-search": (
        "jobs.search.table_search:TableSearchRequest",
        "jobs.search.table_search:search_table_by",
        "jobs.search.table_search:read_result",
    ),
    "scale": ("jobs.scale.request:ScaleRequest", "jobs.scale.job:ScaleJob", "jobs.scale.result:read_family"),
    "select": ("jobs.select.request:SelectRequest", "jobs.select.job:SelectJob", "jobs.select.result:read_result"),
    "finish": ("jobs.finish.request:FinishRequest", "jobs.finish.job:finish_by", "jobs.finish.result:read_finish"),
    "transfer": (
        "jobs.transfer.request:TransferRequest",
        "jobs.transfer.job:transfer_by",
        "jobs.transfer.result:read_transfer",
    ),
    "detect": ("jobs.detect.request:DetectRequest", "jobs.detect.job:DetectJob", "jobs.detect.result:read_result"),
    "study": ("lab.request:StudyRequest", "lab.job:study_by", ""),
}


@opens_runs
def resume(run: str | Path, *, trust_code: bool = False, track: Track = (), on_event: OnEvent | None = None) -> Result:
    """Continue a run from where it stands; a finished run is read.

    Args:
        run: The run directory.
        trust_code: Run Python files and classes that the run names (docs/received-runs.md).
        track: Trackers, as of the job. They have to be named again: a run does not start them by itself.
        on_event: Receives progress.

    Returns:
        The result of the job.
    """
    path = Path(run)
    if not exists(path / SETTINGS):
        raise RunError(f"{path} is not a run: it has no {SETTINGS}")
    settings = read_settings(path)
    kind = settings.get("job")
    if kind == "optimise":
        require_settings(path, settings, {"evaluate": dict})
        what = f"{path} optimises {settings['evaluate'].get('function')}, an object from Python"
        raise RunError(f"{what}: call optimise again with out={str(path)!r}")
    if not isinstance(kind, str) or kind not in JOBS:
        inside = f"; it is part of {path.parents[1]}" if kind == "network" else ""
        raise RunError(f"{path} is a run of {kind!r}: only {', '.join(JOBS)} can be resumed{inside}")
    if not isinstance(settings.get("request"), dict):
        raise RunError(f"{path} has no request in its settings: give the command that began the run once more")
    request, do, read = JOBS[kind]
    _require_tracked(_load(do), path, track)
    if read and (path / RESULT).exists():
        if place := unfinished(path):  # a model of the run was being trained further
            return resume(place, trust_code=trust_code, track=track, on_event=on_event)
        with naming_damage(path / RESULT):
            finished: Result = _load(read)(path)
            finished.summary()
        return finished
    with following(path):
        with naming_damage(path / SETTINGS):
            asked = _load(request).from_record(settings["request"])
        return _do(_load(do), asked, path, on_event, track)


def _do(job: Any, request: Any, path: Path, on_event: OnEvent | None, track: Track) -> Result:
    result: Result
    tracked: dict[str, Any] = {"track": track} if require_trackers(track) else {}
    if isinstance(job, type):
        from ..jobs.job import run_job

        result = run_job(partial(job.prepare, request), out=path, on_event=on_event, **tracked)  # type: ignore[attr-defined]
    else:
        result = job(request, out=path, on_event=on_event, **tracked)
    return result


def _require_tracked(job: Any, path: Path, track: Track) -> None:
    """Refuse trackers for a job that has none."""
    named = require_trackers(track)
    if named and not isinstance(job, type) and "track" not in signature(job).parameters:
        raise InputError(f"{path} is of a job that has no trackers, got {[_name(t) for t in named]}")


def _name(tracker: str | Tracker) -> str:
    return tracker if isinstance(tracker, str) else tracker.name


def _load(home: str) -> Any:
    module, _, name = home.partition(":")
    target: Callable[..., Any] = getattr(import_module(f"supernetic.{module}"), name)
    return target
