"""The lookup table of a space: given, read from a file or a run, or measured now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import RunError
from ..runs.directory import read_records
from ..space import Space

if TYPE_CHECKING:
    from .lookup import LatencyTable


LATENCIES = "latency.jsonl"


def latency_table(space: Space, source: LatencyTable | str | Path | None = None, **settings: Any) -> LatencyTable:
    """The lookup table of a space: given, read from a file or run directory, or measured now (`measure_table`)."""
    from .lookup import LatencyTable, measure_table

    if source is None:
        return measure_table(space, **settings)
    if isinstance(source, LatencyTable):
        return source.require(space)
    path = Path(source) / LATENCIES if Path(source).is_dir() else Path(source)
    if not path.is_file():
        raise RunError(f"{path} does not exist: latencies are read from a run or its {LATENCIES}")
    return LatencyTable.from_records(read_records(path)).require(space)
