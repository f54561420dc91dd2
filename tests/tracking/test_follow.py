from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import SupernetError
from supernetic.runs.directory import Run, append_records, open_run
from supernetic.tracking import Follower, Recorder, Row


class Known(Recorder):
    """Says by what it was known before."""

    def begin(self, run: Path, settings: Mapping[str, Any], earlier: str) -> str:
        super().begin(run, settings, earlier)
        self.earlier = earlier
        return "first"


class Broken(Recorder):
    def log(self, source: str, rows: Sequence[Row]) -> None:
        raise OSError("no space left")


def follower(run: Run, *trackers: Recorder, warn: list[str] | None = None) -> Follower:
    told: list[str] = [] if warn is None else warn
    made = Follower(trackers, run, lambda: {f"networks/{p.name}": p for p in run.path.glob("networks/*")}, told.append)
    made.begin(run.settings)
    return made


def fill(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    append_records(path, records)


def test_rows_come_from_all_files_of_the_run_and_each_once(tmp_path: Path) -> None:
    tracker = Recorder()
    with open_run(tmp_path / "run", {}) as run:
        follow = follower(run, tracker)
        fill(run.path / "metrics.jsonl", {"task": "supernet", "step": 10, "loss": 2.0, "lr": 0.1})
        fill(run.path / "networks/ab/metrics.jsonl", {"task": "network", "step": 5, "loss": None, "lr": 0.2})
        fill(run.path / "trials.jsonl", {"arch": [0, 1], "status": "ok", "metrics": {"cost/macs": 7, "score": None}})
        follow.look()
        fill(run.path / "networks/ab/metrics.jsonl", {"task": "network", "step": 5, "valid/accuracy": 0.5})
        follow.look()
        follow.look(now=False)  # the last look was just now
        follow.finish({"loss": 1.5})
        follow.close()
    assert tracker.rows == {
        "supernet": [Row(10, {"loss": 2.0, "lr": 0.1})],
        "networks/ab": [Row(5, {"lr": 0.2}), Row(5, {"valid/accuracy": 0.5})],
        "trials": [Row(1, {"cost/macs": 7.0})],
    }
    assert tracker.results == {"loss": 1.5}
    assert tracker.closed


def test_an_interrupted_run_goes_on_and_sends_nothing_twice(tmp_path: Path) -> None:
    steps = [{"task": "supernet", "step": s, "loss": float(s)} for s in range(1, 5)]
    file = tmp_path / "run/metrics.jsonl"
    first, second = Known(), Known()
    with open_run(tmp_path / "run", {}) as run:
        fill(file, *steps[:3])
        follower(run, first).look()
    file.write_text(json.dumps(steps[0]) + "\n")  # steps after the checkpoint are forgotten, and taken again
    with open_run(tmp_path / "run", {}) as run:
        follow = follower(run, second)
        follow.look()
        assert second.rows == {}
        fill(file, *steps[1:])
        follow.look()
    assert first.earlier == ""
    assert second.earlier == "first"
    assert [r.step for r in first.rows["supernet"] + second.rows["supernet"]] == [1, 2, 3, 4]


def test_a_tracker_that_comes_later_gets_everything(tmp_path: Path) -> None:
    first, second = Recorder("first"), Recorder("second")
    with open_run(tmp_path / "run", {}) as run:
        fill(run.path / "metrics.jsonl", {"task": "supernet", "step": 1, "loss": 1.0})
        follower(run, first).look()
        again = Recorder("first")
        follower(run, again, second).look()
    assert first.rows == second.rows == {"supernet": [Row(1, {"loss": 1.0})]}
    assert again.rows == {}


def test_a_tracker_that_fails_is_given_up_with_a_word(tmp_path: Path) -> None:
    told: list[str] = []
    good, bad = Recorder(), Broken("broken")
    with open_run(tmp_path / "run", {}) as run:
        follow = follower(run, bad, good, warn=told)
        fill(run.path / "metrics.jsonl", {"task": "supernet", "step": 1, "loss": 1.0})
        follow.look()
        follow.finish({})
        follow.close()
    assert told == ["broken no longer follows the run: OSError: no space left"]
    assert good.rows == {"supernet": [Row(1, {"loss": 1.0})]}
    assert good.closed


def test_a_damaged_state_is_named(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", {}) as run:
        (run.path / "tracking.json").write_text('{"wandb": 3}')
        with pytest.raises(SupernetError, match=r"tracking.json cannot be read"):
            follower(run, Recorder())
