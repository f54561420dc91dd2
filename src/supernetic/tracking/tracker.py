"""What a tracker is: a few methods, so that one of your own is a few lines too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..runs.files import SETTINGS


class Row(NamedTuple):
    """Numbers at one step of a training, or of one trial."""

    step: int
    values: Mapping[str, float]


class Tracker(Protocol):
    """Receives what a job records. It is called from one thread of one process, whatever trains elsewhere."""

    @property
    def name(self) -> str:
        """What the run remembers it by; two trackers of a job must differ in it."""

    def begin(self, run: Path, settings: Mapping[str, Any], earlier: str) -> str:
        """Start, before anything is sent.

        Args:
            run: The run directory.
            settings: Of the run, as `run.toml` has them.
            earlier: What this method returned when the run was begun; empty for a new run.

        Returns:
            By what the tracker knows the run, to go on with it after an interruption.
        """

    def log(self, source: str, rows: Sequence[Row]) -> None:
        """Take over new rows.

        Args:
            source: What they are of: `supernet`, `networks/KEY`, `trials`.
            rows: In their order. No row is sent twice, unless the job was killed in between.
        """

    def finish(self, results: Mapping[str, float]) -> None:
        """Take over the numbers of the result. An interrupted job does not come to this."""

    def close(self) -> None:
        """Write out what is left; called at the end in any case."""


Track: TypeAlias = "str | Tracker | Sequence[str | Tracker]"  # as jobs accept it


def shared_folder(run: Path) -> tuple[Path, str]:
    """Where a tracker that collects many runs keeps its files: beside the runs, never inside one.

    Args:
        run: A run, which may be part of another.

    Returns:
        The folder, and what to call the run there.
    """
    path = run.absolute()
    outermost = next((p for p in reversed(path.parents) if (p / SETTINGS).exists()), path)
    return outermost.parent, path.relative_to(outermost.parent).as_posix()


def flat_settings(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings without tables in tables: `recipe.lr`."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            flat |= flat_settings(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def numbers_of(record: Any, prefix: str = "") -> dict[str, float]:
    """The numbers of a result.

    Args:
        record: Plain data. Of lists, only records that have a `name` are looked into.
        prefix: Of the names.

    Returns:
        Numbers by the path to them, such as `networks/model-1/test/accuracy`.
    """
    if isinstance(record, bool) or record is None:
        return {}
    if isinstance(record, int | float):
        return {prefix: float(record)}
    entries: Iterable[tuple[Any, Any]] = ()
    if isinstance(record, Mapping):
        entries = record.items()
    elif isinstance(record, list | tuple):
        entries = [(r["name"], r) for r in record if isinstance(r, Mapping) and isinstance(r.get("name"), str)]
    found: dict[str, float] = {}
    for name, value in entries:
        found |= numbers_of(value, f"{prefix}/{name}" if prefix else str(name))
    return found
