"""What a job was asked for, in words that a run can keep and `resume` can say again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..objective import Constraint, Objective
from .directory import Run
from .files import REQUEST

UNSAID = ("out", "dry_run", "progress")  # arguments that say where and how to watch, not what
OBJECT = "object "  # how the words for what has none begin
LONGEST = 1000  # characters of them


def save_request(run: Run, arguments: Mapping[str, Any]) -> None:
    """Keep a job's arguments in its run; unlike settings, they are not compared."""
    run.write(REQUEST, json.dumps(to_record({k: v for k, v in arguments.items() if k not in UNSAID}), indent=1) + "\n")


def load_request(path: Path) -> dict[str, Any]:
    """The arguments that `save_request` kept."""
    try:
        return from_record(json.loads((path / REQUEST).read_text()))
    except (OSError, ValueError, AttributeError) as error:
        raise RunError(
            f"{path / REQUEST} does not say what was asked for ({error}): give the command that began the run once more"
        ) from None


def to_record(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not None in text, numbers, lists and tables: files by their full paths, a mark on objects."""
    return {k: _plain(v, file=k == "data") for k, v in arguments.items() if v is not None}


def _plain(value: Any, file: bool = False) -> Any:
    """`file`: any text that names one is meant so; else it takes a slash or a suffix, as spaces have names too."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, str | Path):
        path = Path(value)
        known = file or isinstance(value, Path) or "/" in value or path.suffix
        return str(path.resolve()) if known and path.exists() else str(value)
    if isinstance(value, Objective | Constraint):
        return str(value)
    return value if isinstance(value, bool | int | float) else OBJECT + " ".join(repr(value).split())[:LONGEST]


def from_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments from what `said` made of them; an error if one of them was an object."""
    for name, value in record.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, str) and part.startswith(OBJECT):
                what = part.removeprefix(OBJECT)
                raise RunError(f"{name} was given as an object from Python: call the job again with {what}")
    return {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
