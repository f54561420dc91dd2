"""Runs of all jobs go on by their own records. Searches on images are interrupted in `images/test_job.py`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from supernetic import catalog
from supernetic.commands.resume import resume
from supernetic.errors import InputError, RunError
from supernetic.jobs.search.table_search import search_table
from supernetic.jobs.train.job import TrainResult, train
from supernetic.progress import Event
from supernetic.runs.directory import open_run, read_settings
from supernetic.searchers.random import RandomSearch
from supernetic.spaces.nasbench201 import NASBench201
from supernetic.tracking import Recorder

TRAINING: dict[str, Any] = {"space": "macro:channels=4,resolution=8,head=16", "steps": 4, "limit": 300, "threads": 1}


def files(run: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in run.iterdir() if p.is_file() and p.name not in ("timings.jsonl", ".lock")}


def two(event: Event) -> None:
    if event.done == 2:
        raise KeyboardInterrupt


def test_a_training_goes_on_from_another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fast.toml").write_text('length = "4 steps"\nbatch_size = 32\nlr = 0.1\n')
    monkeypatch.chdir(tmp_path)
    whole = train(**TRAINING, recipe="fast.toml", out="whole")
    with pytest.raises(KeyboardInterrupt):
        train(**TRAINING, recipe="fast.toml", out="run", on_event=two)
    assert not Path("run/supernet.safetensors").exists()
    monkeypatch.chdir("/")
    watched: list[Event] = []
    result = resume(tmp_path / "run", on_event=watched.append)
    assert watched
    assert isinstance(result, TrainResult)
    assert result.loss == whole.loss
    both = [files(tmp_path / name) for name in ("whole", "run")]
    for name in ("supernet.safetensors", "metrics.jsonl", "run.toml"):
        assert both[0][name] == both[1][name]


def test_a_finished_run_is_read(tmp_path: Path) -> None:
    result = search_table("nasbench201", evaluations=60, out=tmp_path / "run")
    before = files(tmp_path / "run")
    assert resume(tmp_path / "run").to_json() == result.to_json()
    assert files(tmp_path / "run") == before


def test_a_search_on_a_table_goes_on(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"where": ["macs<=100M"], "population": 20, "generations": 2, "keep": 3}
    search_table("nasbench201", **settings, out=tmp_path / "whole")
    search_table("nasbench201", **settings, out=tmp_path / "run")
    trials = tmp_path / "run" / "trials.jsonl"
    trials.write_bytes(trials.read_bytes()[:3000])  # as a kill leaves it
    (tmp_path / "run" / "result.json").unlink()
    told: list[str] = []
    found: Any = resume(tmp_path / "run", on_event=lambda e: told.append(e.text))
    assert told[0].startswith("generation 1")
    assert len(found.chosen) == 3
    assert trials.read_bytes() == (tmp_path / "whole" / "trials.jsonl").read_bytes()


def test_objects_from_python_are_asked_for(tmp_path: Path) -> None:
    table = catalog.table("nasbench201")
    search_table(table, searcher=RandomSearch(), evaluations=5, out=tmp_path / "run")
    resume(tmp_path / "run")  # a finished run is read
    (tmp_path / "run/result.json").unlink()
    with pytest.raises(InputError, match="table was given as an object from Python"):
        resume(tmp_path / "run")


def test_objects_of_our_own_classes_are_made_again(tmp_path: Path) -> None:
    given: dict[str, Any] = {"searcher": RandomSearch(batch=3), "space": NASBench201(), "evaluations": 5}
    result = search_table("nasbench201", **given, out=tmp_path / "run")
    assert resume(tmp_path / "run").to_json() == result.to_json()


def test_what_cannot_be_resumed_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run: it has no run"):
        resume(tmp_path)
    inside = tmp_path / "run" / "networks" / "KEY"
    open_run(inside, {"job": "network"}).close()
    with pytest.raises(RunError, match=f"'network': only train, search, .* part of {tmp_path / 'run'}$"):
        resume(inside)
    search_table("nasbench201", evaluations=5, out=tmp_path / "old")
    settings = tomllib.loads((tmp_path / "old" / "run.toml").read_text())
    for damaged in ({}, {"request": "macro"}, {"request": ["macro"]}):
        kept = {k: v for k, v in settings.items() if k != "request"}
        (tmp_path / "old" / "run.toml").write_text(tomli_w.dumps({**damaged, **kept}))
        with pytest.raises(RunError, match="give the command that began the run once more"):
            resume(tmp_path / "old")


def test_the_record_is_readable(tmp_path: Path) -> None:
    search_table("nasbench201", where=["macs<=100M"], evaluations=5, out=tmp_path / "run")
    record = read_settings(tmp_path / "run")["request"]
    assert (record["table"], record["where"], record["evaluations"]) == ("nasbench201", ["macs<=100M"], 5)
    assert not {"out", "on_event"} & record.keys()


def test_a_job_without_trackers_says_so(tmp_path: Path) -> None:
    search_table("nasbench201", evaluations=20, out=tmp_path / "run")
    with pytest.raises(InputError, match=r"run is of a job that has no trackers, got \['recorder'\]"):
        resume(tmp_path / "run", track=Recorder())
