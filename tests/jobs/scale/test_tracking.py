"""What a tracker is told of a family."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from supernetic.jobs.scale.job import scale
from supernetic.runs.directory import read_records
from supernetic.tracking import Recorder


def test_a_finished_family_can_be_shown_later(run: Path, small: dict[str, Any], tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    tracker = Recorder()
    family = scale(**small, out=tmp_path / "run", track=tracker)
    for folder in run.glob("networks/*"):
        expected = [r["step"] for r in read_records(folder / "metrics.jsonl")]
        assert [row.step for row in tracker.rows[f"networks/{folder.name}"]] == expected
    assert tracker.rows["supernet"]
    assert any(f"networks/{n.name}/macs" in tracker.results for n in family.networks)
