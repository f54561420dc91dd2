"""What the runs of a folder are, from a few small files of each.

The runs may come from anyone, and may be broken. Nothing is followed out of the folder, no file is read whole that is
too large, and whatever is wrong with a run becomes a line that says so: one bad run must not hide the others.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from ..errors import RunError
from .directory import in_use, read_modest_file
from .files import FINISHED_NETWORKS, NETWORKS, REPORT, RESULT, SETTINGS, TIMINGS, TRAINED_NETWORKS, TRUST
from .records import NetworkRecord, networks_of, recommended_network
from .view import asked_of, is_run, step_seconds

FINISHED, RUNNING, INTERRUPTED, UNREADABLE = "finished", "running", "interrupted", "cannot be read"
MOST_BYTES = 4 << 20  # of a file that is read
MOST_RUNS = 2000  # of a folder that are listed
TEST, VALID = "test/accuracy", "valid/accuracy"


@dataclass(frozen=True)
class BestModel:
    """The model to take of a run: as tested, or by validation images as long as it is not."""

    name: str
    accuracy: float | None
    tested: bool
    images: int | None  # that were tested
    macs: int | None
    params: int | None


@dataclass(frozen=True)
class RunLine:
    """A run of a folder. What is not known is empty."""

    name: str  # of its directory, as the file system has it
    state: str
    problem: str = ""  # why it cannot be read
    job: str = ""
    space: str = ""
    data: str = ""
    fingerprint: str = ""  # of the data
    limits: tuple[str, ...] = ()
    minutes: float | None = None  # that were asked for
    model: BestModel | None = None
    seconds: float = 0.0
    began: float | None = None  # seconds since 1970
    report: bool = False  # whether there is a page to link to


def runs_of(folder: Path) -> Iterator[RunLine]:
    """The runs directly in a folder, the newest first.

    Args:
        folder: The folder.

    Yields:
        A line for each, also for links and for directories that look like a run and cannot be read.
    """
    with os.scandir(folder) as entries:
        found = sorted((e for e in entries if _may_be_run(e)), key=lambda e: e.name, reverse=True)
    lines = (_line(folder / entry.name, entry.is_symlink()) for entry in found[:MOST_RUNS])
    yield from sorted(lines, key=lambda line: (-(line.began or 0.0), line.name))


def holds_runs(folder: Path) -> bool:
    """Whether a directory is a folder of runs, and no run itself."""
    if not folder.is_dir() or is_run(folder):
        return False
    with os.scandir(folder) as entries:
        return any(_may_be_run(entry) and not entry.is_symlink() for entry in entries)


def _may_be_run(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir() and is_run(Path(entry.path))
    except OSError:
        return False


def _line(run: Path, link: bool) -> RunLine:
    if link:
        return RunLine(run.name, UNREADABLE, "a link, which is not followed")
    try:
        return _read(run)
    except RunError as error:
        return RunLine(run.name, UNREADABLE, str(error), began=_began(run))
    except Exception as error:  # whatever someone else's files hold: the other runs are to be listed
        return RunLine(run.name, UNREADABLE, f"damaged: {type(error).__name__}", began=_began(run))


def _read(run: Path) -> RunLine:
    settings = _settings(run)
    asked, data, space = asked_of(settings), _table(settings.get("data")), _table(settings.get("space"))
    minutes = asked.get("minutes")
    return RunLine(
        name=run.name,
        state=RUNNING if in_use(run) else FINISHED if _is_plain(run / RESULT) else INTERRUPTED,
        job=str(settings.get("job", "")),
        space=str(space.get("name", "") or (settings["space"] if isinstance(settings.get("space"), str) else "")),
        data=str(data.get("name", "")),
        fingerprint=str(data.get("fingerprint", "")),
        limits=_texts(asked.get("where") or settings.get("where")),
        minutes=float(minutes) if isinstance(minutes, int | float) and isfinite(minutes) else None,
        model=_model(run),
        seconds=sum(s for s in step_seconds(_timings(run)).values() if isfinite(s)),
        began=_began(run),
        report=_is_plain(run / REPORT),
    )


def _settings(run: Path) -> Mapping[str, Any]:
    text = read_modest_file(run / SETTINGS, MOST_BYTES)
    try:
        return tomllib.loads((text or b"").decode())
    except ValueError as error:
        raise RunError(f"{SETTINGS} is damaged: {error}") from None


def _json(run: Path, name: str) -> Any:
    text = read_modest_file(run / name, MOST_BYTES)
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise RunError(f"{name} is damaged: {error}") from None


def _timings(run: Path) -> list[dict[str, Any]]:
    """Whole lines; the last one may be under way."""
    lines = (read_modest_file(run / TIMINGS, MOST_BYTES) or b"").split(b"\n")[:-1]
    return [record for line in lines if isinstance(record := json.loads(line), dict)]


def _model(run: Path) -> BestModel | None:
    names = (NETWORKS, FINISHED_NETWORKS, TRAINED_NETWORKS)
    records = next((networks_of(found, name) for name in names if (found := _json(run, name)) is not None), ())
    best = _best(records)
    if best is None:
        return None
    test = (best.exported_test or {}).get(TEST)
    images = _table(_json(run, TRUST)).get("test_images")
    return BestModel(
        best.name,
        test if test is not None else (best.trained or {}).get(VALID),
        test is not None,
        images if isinstance(images, int) and images > 0 else None,
        best.macs,
        best.params,
    )


def _best(records: Sequence[NetworkRecord]) -> NetworkRecord | None:
    """The recommended model; else the chosen one with the best accuracy so far."""

    def accuracy(r: NetworkRecord) -> float:
        value = (r.exported_test or {}).get(TEST, (r.trained or {}).get(VALID))
        return -1.0 if value is None else value

    return recommended_network(records) or max((r for r in records if r.chosen), key=accuracy, default=None)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(v for v in values if isinstance(v, str))


def _is_plain(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except OSError:
        return False


def _began(run: Path) -> float | None:
    """When its settings were written, which is done once."""
    try:
        return (run / SETTINGS).lstat().st_mtime
    except OSError:
        return None
