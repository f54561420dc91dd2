"""Where a finish is kept: `RUN/finishes/1`, `RUN/finishes/2`, ..., one after the other."""

from __future__ import annotations

from pathlib import Path

from ...errors import RunError
from ...runs.directory import read_settings
from ...runs.files import FINISHES, RESULT, SETTINGS
from .request import FinishRequest


def place_of(run: Path, request: FinishRequest) -> Path:
    """Where a finish is kept.

    Args:
        run: The run.
        request: What is asked for.

    Returns:
        The directory of the same request that was interrupted, or a new one. Another that was interrupted is refused.
    """
    place = unfinished(run)
    if place is None:
        whole = [p for p in _places(run) if (p / RESULT).exists()]
        return run / FINISHES / str(1 + max((int(p.name) for p in whole), default=0))
    if read_settings(place).get("request") != request.record():
        raise RunError(
            f"{run} has a finish that was interrupted: `supernetic resume {run}` goes on with it; to give it up, "
            f"delete {place}"
        )
    return place


def run_of(place: Path) -> tuple[Path, Path]:
    """The run that a finish is of, and the directory of the finish.

    Args:
        place: The directory of the finish, however it was written: `.` if one is there.

    Returns:
        Both directories.
    """
    if not (place.name.isdecimal() and len(place.parents) > 1):
        place = place.resolve()
    if not place.name.isdecimal() or place.parent.name != FINISHES:
        raise RunError(f"{place} is no finish of a run: it must be RUN/{FINISHES}/NUMBER")
    return place.parents[1], place


def unfinished(run: Path) -> Path | None:
    """The directory of a finish that was interrupted; None if there is none.

    Args:
        run: A run of `search` or `scale`.
    """
    begun = [place for place in _places(run) if not (place / RESULT).exists()]
    return next((place for place in begun if (place / SETTINGS).exists()), None)


def _places(run: Path) -> list[Path]:
    """The directories of all finishes of a run, in their order."""
    found = [p for p in (run / FINISHES).glob("*") if p.name.isdecimal() and p.is_dir()]
    return sorted(found, key=lambda p: int(p.name))
