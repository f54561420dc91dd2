"""TensorBoard: events in the directory `tensorboard` of a run, one folder for each training.

tensorboard --logdir runs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..runs.files import TENSORBOARD
from .tracker import Row

MOST_OPEN = 8  # files that are open at a time, each with a thread of its own
RESULTS = "result"  # the folder of the final numbers


class TensorBoard:
    """Writes events into a run."""

    name = "tensorboard"

    def __init__(self) -> None:
        self.writers: dict[str, Any] = {}  # by folder, the one that was written last at the end

    def begin(self, run: Path, settings: Mapping[str, Any], earlier: str) -> str:
        """Remember where events go; TensorBoard itself knows no runs."""
        self.folder = run / TENSORBOARD
        return TENSORBOARD

    def log(self, source: str, rows: Sequence[Row]) -> None:
        """One scalar per number."""
        writer = self._writer(source)
        for row in rows:
            for name, value in row.values.items():
                writer.add_scalar(name, value, row.step)
        writer.flush()

    def finish(self, results: Mapping[str, float]) -> None:
        """The final numbers, as scalars of one point."""
        if results:
            self.log(RESULTS, [Row(0, results)])

    def close(self) -> None:
        """Close all files."""
        for writer in self.writers.values():
            writer.close()
        self.writers.clear()

    def _writer(self, source: str) -> Any:
        from torch.utils.tensorboard import SummaryWriter

        writer = self.writers.pop(source, None) or SummaryWriter(str(self.folder / source))
        self.writers[source] = writer
        if len(self.writers) > MOST_OPEN:
            self.writers.pop(next(iter(self.writers))).close()
        return writer
