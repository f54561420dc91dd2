"""Get the latency table of a space: a given one, one from a file or a run, or one that is measured now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import RunError
from ..runs.directory import read_records
from ..space import Space

if TYPE_CHECKING:
    from .lookup import LatencyTable


LATENCY_FILE = "latency.jsonl"


def latency_table(space: Space, source: LatencyTable | str | Path | None = None, **settings: Any) -> LatencyTable:
    """Get the latency table of a space.

    Args:
        space: The space.
        source: A table, a file, or a run directory; without one the layers are measured now.
        **settings: Settings of `measure_table`.

    Returns:
        The table, which belongs to that space.
    """
    from .lookup import LatencyTable, measure_table

    if source is None:
        return measure_table(space, **settings)
    if isinstance(source, LatencyTable):
        return source.require(space)
    path = Path(source) / LATENCY_FILE if Path(source).is_dir() else Path(source)
    if not path.is_file():
        raise RunError(f"{path} does not exist: give a run with measured latencies, or its {LATENCY_FILE}")
    return LatencyTable.from_records(read_records(path)).require(space)
