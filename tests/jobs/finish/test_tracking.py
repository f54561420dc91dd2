"""What a tracker is told of a finish: its own training, and none of those before."""

from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.jobs.finish.job import finish
from supernetic.runs.directory import read_records
from supernetic.runs.records import read_networks
from supernetic.tracking import Recorder


@pytest.mark.usefixtures("no_onnx")
def test_only_the_new_training_is_shown(run: Path) -> None:
    tracker = Recorder()
    finish(run, "model-1", steps=10, track=tracker)
    (record,) = (r for r in read_networks(run) if r.name == "model-1")
    (new,) = {p.name for p in run.glob("networks/*")} & {s.removeprefix("networks/") for s in tracker.rows}
    assert new in record.trainings[-1:] or len(record.trainings) == 1
    assert [row.step for row in tracker.rows[f"networks/{new}"]] == [
        r["step"] for r in read_records(run / "networks" / new / "metrics.jsonl")
    ]
    assert list(tracker.rows) == [f"networks/{new}"]
    assert (run / "finishes/1/tracking.json").exists()
