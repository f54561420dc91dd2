"""`resume`: go on with a run after a kill, a reboot or Ctrl-C, whatever job it is of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import RunError
from ..run import read_settings


def resume(run: str | Path, **watching: Any) -> Any:
    """Do what the run was asked for, from where it stands; a finished run is read. `watching` is that of the job."""
    path = Path(run)
    settings = read_settings(path)
    asked, job = settings.get("asked"), settings.get("job")
    if asked is None or job != "search":
        raise RunError(f"{path} cannot be resumed by its record: give the command that began it once more")
    from .images.job import search_images
    from .images.request import from_record

    return search_images(from_record(asked), out=path, **watching)
