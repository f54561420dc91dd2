"""From the files of a run to trackers, while the run grows.

Trainings run in processes of their own, each in a run directory; all of them record `metrics.jsonl`. The process that
runs the job reads what is new there, so that no training knows of trackers. What has been sent is in `tracking.json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from ..errors import RunError, SupernetError
from ..runs.directory import Run, read_records
from ..runs.files import METRICS, TRACKING, TRIALS
from .tracker import Row, Tracker, numbers_of

INTERVAL_S = 5.0  # between two looks at the files
NOT_VALUES = ("task", "step")  # entries of a record that are no measurements


class Follower:
    """Sends what a run records to trackers.

    A tracker that cannot begin ends the job, before its first step. One that fails later is given up with a word: hours
    of work must not be lost for it.

    Args:
        trackers: Those that listen.
        run: The open run.
        folders: The directories of all trainings of the job by what to call them, as far as they are there; asked again
            at every look.
        warn: Receives a line if a tracker is given up.
    """

    def __init__(
        self,
        trackers: Sequence[Tracker],
        run: Run,
        folders: Callable[[], Mapping[str, Path]],
        warn: Callable[[str], None],
    ) -> None:
        self.trackers, self.run, self.folders, self.warn = list(trackers), run, folders, warn
        self.state = _read_state(run.path / TRACKING)
        self.sizes: dict[Path, int] = {}
        self.last = monotonic()

    def begin(self, settings: Mapping[str, Any]) -> None:
        """Start all trackers.

        Args:
            settings: Of the run.
        """
        begun: list[Tracker] = []
        try:
            for tracker in self.trackers:
                entry = self.state.setdefault(tracker.name, {"id": "", "rows": {}})
                entry["id"] = tracker.begin(self.run.path, settings, entry["id"])
                begun.append(tracker)
        except BaseException:
            self.trackers = begun
            self.close()
            raise
        self._keep_state()

    def look(self, *, now: bool = True) -> None:
        """Send what is new.

        Args:
            now: Whether to look in any case; else only if the last look was some seconds ago.
        """
        if not self.trackers or not (now or monotonic() - self.last > INTERVAL_S):
            return
        sent = [self._send_file(file, source) for file, source in self._files()]
        if any(sent):
            self._keep_state()
        self.last = monotonic()

    def finish(self, result: Mapping[str, Any]) -> None:
        """Send the rest, and the result of the job."""
        self.look()
        numbers = numbers_of(result)
        for tracker in list(self.trackers):
            self._try(tracker, lambda t: t.finish(numbers))

    def close(self) -> None:
        """Close all trackers."""
        for tracker in list(self.trackers):
            self._try(tracker, lambda t: t.close())
        self.trackers = []

    def _files(self) -> list[tuple[Path, str]]:
        """Files with rows, each with what it is of; that of the run itself says it in its records."""
        path = self.run.path
        trainings = [(folder / METRICS, name) for name, folder in sorted(self.folders().items())]
        return [(path / METRICS, ""), (path / TRIALS, "trials"), *trainings]

    def _send_file(self, file: Path, source: str) -> bool:
        size = file.stat().st_size if file.exists() else 0
        if size == self.sizes.get(file, 0):
            return False
        try:
            records = read_records(file)
        except RunError as error:
            self.warn(str(error))
            return False
        finally:
            self.sizes[file] = size
        for tracker in list(self.trackers):
            rows = self.state[tracker.name]["rows"]
            key = source or METRICS
            # After a kill, records of steps that are taken again vanish for a while, and come back the same.
            for name, new in _by_source(records, rows.get(key, 0), source).items():
                if not self._try(tracker, lambda t, name=name, new=new: t.log(name, new)):  # type: ignore[misc]
                    break
            rows[key] = max(rows.get(key, 0), len(records))
        return True

    def _try(self, tracker: Tracker, call: Callable[[Tracker], None]) -> bool:
        try:
            call(tracker)
        except Exception as error:
            self.trackers.remove(tracker)
            self.warn(f"{tracker.name} no longer follows the run: {type(error).__name__}: {error}")
            return False
        return True

    def _keep_state(self) -> None:
        self.run.write(TRACKING, json.dumps(self.state, indent=1) + "\n")


def _by_source(records: Sequence[Mapping[str, Any]], skip: int, source: str) -> dict[str, list[Row]]:
    """Records from number `skip` on as rows, by what they are of."""
    found: dict[str, list[Row]] = {}
    for number, record in enumerate(records[skip:], skip + 1):
        measured = record.get("metrics", record)  # of a trial, they have an entry of their own
        values = {
            name: float(value)
            for name, value in measured.items()
            if name not in NOT_VALUES and isinstance(value, int | float) and not isinstance(value, bool)
        }
        if values:
            row = Row(int(record.get("step", number)), values)
            found.setdefault(source or str(record.get("task", "training")), []).append(row)
    return found


def _read_state(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
        return {
            str(name): {"id": str(entry["id"]), "rows": {str(k): int(v) for k, v in entry["rows"].items()}}
            for name, entry in state.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SupernetError(f"{file} cannot be read: {error}; without it, everything is sent again") from None
