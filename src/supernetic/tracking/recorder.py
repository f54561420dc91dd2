"""A tracker that keeps everything in memory, for notebooks and tests; a tracker of your own looks like this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .tracker import Row


class Recorder:
    """Keeps what it receives.

    Args:
        name: Another one if a job has several.
    """

    def __init__(self, name: str = "recorder") -> None:
        self.name = name
        self.settings: Mapping[str, Any] = {}
        self.rows: dict[str, list[Row]] = {}  # by source
        self.results: dict[str, float] = {}
        self.closed = False

    def begin(self, run: Path, settings: Mapping[str, Any], earlier: str) -> str:
        """Keep the settings. What an interrupted job sent is not known any more."""
        self.settings, self.closed = settings, False
        return str(run)

    def log(self, source: str, rows: Sequence[Row]) -> None:
        """Keep the rows."""
        self.rows.setdefault(source, []).extend(rows)

    def finish(self, results: Mapping[str, float]) -> None:
        """Keep the results."""
        self.results = dict(results)

    def close(self) -> None:
        """Nothing is left to write."""
        self.closed = True
