"""`resume`: go on with a run after a kill, a reboot or Ctrl-C, whatever job it is of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import RunError
from ..runs.directory import SETTINGS, read_settings
from ..runs.request import load_request
from ..runs.trust import following, opens_runs

if TYPE_CHECKING:
    from ..jobs.train.prepare import Watch


@opens_runs
def resume(
    run: str | Path,
    *,
    tell: Callable[[str], None] | None = None,
    watch: Watch | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    trust_code: bool = False,
) -> Any:
    """Do what the run was asked for, from where it stands; a finished run is read.

    `tell`, `watch` and `progress` are those of `search`. Python files and classes that the run names are run only with
    `trust_code`.
    """
    path = Path(run)
    if not (path / SETTINGS).exists():
        raise RunError(f"{path} is not a run: it has no {SETTINGS}")
    with following(path):
        return _resumed(path, tell, watch, progress)


def _resumed(
    path: Path,
    tell: Callable[[str], None] | None,
    watch: Watch | None,
    progress: Callable[[str, int, int], None] | None,
) -> Any:
    settings = read_settings(path)
    job = settings.get("job")
    if job == "train":
        from ..jobs.train.job import train

        return train(**load_request(path), out=path, progress=watch)
    if job == "study":
        from ..lab.job import study

        return study(**load_request(path), out=path, tell=tell)
    if job == "select":
        from ..jobs.select.job import select

        return select(**load_request(path), out=path, tell=tell)
    if job == "scale":
        from ..jobs.scale.job import scale

        return scale(**load_request(path), out=path, tell=tell, watch=watch, progress=progress)
    if job != "search":
        inside = f"; it is part of {path.parents[1]}" if job == "network" else ""
        raise RunError(f"{path} is a run of {job!r}: trainings, searches, choices and studies can be resumed{inside}")
    if "table" in settings:
        from ..jobs.search.table_search import search_table

        return search_table(
            **load_request(path), out=path, progress=tell and (lambda generation: tell(str(generation)))
        )
    from ..jobs.search.job import RESULT, search_images
    from ..jobs.search.request import request_from
    from ..jobs.search.result import read_found

    if (path / RESULT).exists():
        return read_found(path)
    return search_images(request_from(settings["asked"]), out=path, tell=tell, watch=watch, progress=progress)
