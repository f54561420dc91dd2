"""Where a job's run goes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..reading import exists
from .directory import SETTINGS, Run, open_run, read_settings, require_own_directory, same_settings
from .files import CODE, RESULT
from .trust import code_of_call


@contextmanager
def open_or_resume(
    out: str | Path | None,
    name: str,
    settings: Mapping[str, Any],
    *,
    uncompared: Sequence[str] = (),
    advice: str = "`supernetic resume {path}` goes on",
) -> Iterator[Run]:
    """The run in the named directory; by default today's, with a number if there is a run of other settings.

    A run of the same settings that an earlier day did not finish is gone on with.

    It keeps a copy of every Python file that the call was given. An interruption is told how to go on: `advice`, in
    which `{path}` stands for the run.
    """
    table, texts = code_of_call()
    settings = {**settings, CODE: table} if table else settings
    path = Path(out) if out is not None else _free(name, lambda p: same_settings(p, settings, uncompared))
    files = {f"{CODE}/{name}": text for name, text in texts.items()}
    with open_run(path, settings, uncompared=uncompared, files=files) as run:
        try:
            yield run
        except KeyboardInterrupt as interruption:
            interruption.add_note(advice.format(path=str(path)))
            raise


def resolve_directory(out: str | Path | None, name: str, same: Callable[[Mapping[str, Any]], bool]) -> Path:
    """The same for a run whose settings are not settled yet: `same` knows those that it would go on with.

    A place that cannot be written to is named now, before anything long begins.
    """
    path = Path(out) if out is not None else _free(name, lambda p: _same(p, same))
    require_place(path)
    return path


def require_place(out: str | Path) -> None:
    """Refuse a directory that no run can be written to."""
    path = Path(out)
    above = next(p for p in (path.absolute(), *path.absolute().parents) if exists(p))
    if not (above.is_dir() and os.access(above, os.W_OK)):
        raise RunError(f"the run directory {path} cannot be written: {above} is no directory that can be written to")
    require_own_directory(path)


def _same(path: Path, same: Callable[[Mapping[str, Any]], bool]) -> bool:
    try:
        return (path / SETTINGS).exists() and same(read_settings(path))
    except RunError:  # damaged: it is not in the way of a new one
        return False


def _free(name: str, ours: Callable[[Path], bool]) -> Path:
    """Today's run of these settings; else an earlier day's that was not finished; else a new one of today."""
    base = f"runs/{date.today():%Y-%m-%d}-{name}"
    names = (Path(base if i == 1 else f"{base}-{i}") for i in count(1))
    today = next(p for p in names if not p.exists() or ours(p))
    if today.exists():
        return today
    return next((p for p in _earlier(name) if not (p / RESULT).exists() and ours(p)), today)


def _earlier(name: str) -> list[Path]:
    """Runs of that name that were begun on other days, the newest first."""
    dated = re.compile(rf"\d{{4}}-\d\d-\d\d-{re.escape(name)}(-\d+)?", re.ASCII)
    folder = Path("runs")
    found = [p for p in folder.iterdir() if dated.fullmatch(p.name)] if folder.is_dir() else []
    return sorted(found, key=lambda p: p.name, reverse=True)
