"""Where a job's run goes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

from ..errors import RunError
from .directory import SETTINGS, Run, open_run, read_settings, same_settings
from .files import CODE
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
    path = Path(out) if out is not None else _free(name, lambda p: (p / SETTINGS).exists() and same(read_settings(p)))
    above = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    if not (above.is_dir() and os.access(above, os.W_OK)):
        raise RunError(f"the run directory {path} cannot be written: {above} is no directory that can be written to")
    return path


def _free(name: str, ours: Callable[[Path], bool]) -> Path:
    base = f"runs/{date.today():%Y-%m-%d}-{name}"
    names = (Path(base if i == 1 else f"{base}-{i}") for i in count(1))
    return next(p for p in names if not p.exists() or ours(p))
