"""What a tracker is told of a search."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from supernetic.jobs.search.job import search
from supernetic.runs.directory import read_records
from supernetic.tracking import Recorder


def test_a_finished_search_can_be_shown_later(run: Path, small: dict[str, Any], tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    tracker = Recorder()
    found = search(**small, out=tmp_path / "run", track=tracker)
    trained = {p.parent.name: len(read_records(p)) for p in run.glob("networks/*/metrics.jsonl")}
    assert {f"networks/{key}": n for key, n in trained.items()} == {
        source: len(rows) for source, rows in tracker.rows.items() if source.startswith("networks/")
    }
    assert [row.step for row in tracker.rows["supernet"]] == [r["step"] for r in read_records(run / "metrics.jsonl")]
    assert [row.values["cost/macs"] for row in tracker.rows["trials"]] == [
        trial.metrics["cost/macs"] for trial in found.trials
    ]
    (best,) = (n for n in found.networks if n.recommended)
    assert tracker.results[f"networks/{best.name}/test/test/accuracy"] == (best.test or {})["test/accuracy"]
    assert tracker.settings["request"]["steps"] == small["steps"]
