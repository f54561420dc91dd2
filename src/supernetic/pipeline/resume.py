"""`resume`: go on with a run after a kill, a reboot or Ctrl-C, whatever job it is of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import RunError
from ..run import SETTINGS, read_settings
from .asked import recall

if TYPE_CHECKING:
    from .train_job import Watch


def resume(
    run: str | Path,
    *,
    tell: Callable[[str], None] | None = None,
    watch: Watch | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Any:
    """Do what the run was asked for, from where it stands; a finished run is read.

    `tell`, `watch` and `progress` are those of `search`.
    """
    path = Path(run)
    if not (path / SETTINGS).exists():
        raise RunError(f"{path} is not a run: it has no {SETTINGS}")
    settings = read_settings(path)
    job = settings.get("job")
    if job == "train":
        from .train import train

        return train(**recall(path), out=path, progress=watch)
    if job == "study":
        from .study.job import study

        return study(**recall(path), out=path, tell=tell)
    if job == "select":
        from .select.job import select

        return select(**recall(path), out=path, tell=tell)
    if job == "scale":
        from .scale.job import scale

        return scale(**recall(path), out=path, tell=tell, watch=watch, progress=progress)
    if job != "search":
        inside = f"; it is part of {path.parents[1]}" if job == "network" else ""
        raise RunError(f"{path} is a run of {job!r}: trainings, searches, choices and studies can be resumed{inside}")
    if "table" in settings:
        from .tabular import search_table

        return search_table(**recall(path), out=path, progress=tell and (lambda generation: tell(str(generation))))
    from .images.found import read_found
    from .images.job import RESULT, search_images
    from .images.request import from_record

    if (path / RESULT).exists():
        return read_found(path)
    return search_images(from_record(settings["asked"]), out=path, tell=tell, watch=watch, progress=progress)
