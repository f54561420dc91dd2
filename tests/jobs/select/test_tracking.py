"""What a tracker is told of a choice among models."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from supernetic.jobs.select.job import select
from supernetic.runs.directory import read_records
from supernetic.tracking import Recorder


def test_a_finished_choice_can_be_shown_later(finished: Path, asked: dict[str, Any], tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    tracker = Recorder()
    select(**asked, workers=1, out=tmp_path / "run", track=tracker)
    recorded = {f"trainings/{p.name}": read_records(p / "metrics.jsonl") for p in finished.glob("trainings/*")}
    assert {source: [r["loss"] for r in records] for source, records in recorded.items()} == {
        source: [row.values["loss"] for row in rows] for source, rows in tracker.rows.items()
    }
    assert len(recorded) >= 12
