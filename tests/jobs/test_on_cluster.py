"""Whole jobs on a real cluster of two workers, of which one is killed: the same bytes as in one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

import supernetic
from supernetic.commands.robustness import robustness
from supernetic.parallel.cluster import Cluster
from supernetic.progress import Event

# what tells of time, and files that others write
TIMES = {
    "timings.jsonl",
    "report.html",
    "index.html",
    "networks.json",
    "result.json",
    "model.json",
    "README.md",
    "study.json",
}
SPACE = "macro:channels=4,resolution=8,head=16"
SEARCH: dict[str, Any] = {
    "space": SPACE, "limit": 300, "steps": 6, "network_steps": 4, "population": 4, "generations": 3, "keep": 2,
    "augment": "none", "int8": "no", "workers": 1, "threads": 1,
}  # fmt: skip
SELECT: dict[str, Any] = {
    "models": "logistic,mlp:width=8,depth=1,convnet:width=2,depth=1", "sizes": "40,80", "seeds": 1,
    "limit": 400, "workers": 1, "image_size": 8,
}  # fmt: skip
SCALE: dict[str, Any] = {
    "space": SPACE, "stages": 1, "extrapolate": 0, "steps": 4, "network_steps": 3, "bases": 2, "rounds": 1,
    "population": 4, "generations": 2, "order": 3, "limit": 300, "workers": 1, "threads": 1,
}  # fmt: skip
STUDY = f"""
title = "Tiny"
source = "ours"
seeds = [0, 1]
[base]
space = "{SPACE}"
limit = 300
recipe = {{ length = "6 steps", batch_size = 16, lr = 0.1 }}
[measure]
kind = "ranking"
truth = "mean_acc"
valid = 20
random = 20
sizes = [5, 10]
[grid.stabiliser]
none = {{}}
identity = {{ stabiliser = "skip:identity" }}
"""


def contents(run: Path) -> dict[str, bytes]:
    """All files but those that tell of time."""
    files = (file for file in run.rglob("*") if file.is_file() and not file.name.startswith("."))
    return {str(file.relative_to(run)): file.read_bytes() for file in files if file.name not in TIMES}


class Killer:
    """Kills a worker at the first progress of a task."""

    def __init__(self, cluster: Cluster, task: str) -> None:
        self.cluster, self.task, self.killed = cluster, task, 0
        self.pids = list(cluster.client.run(os.getpid).values())

    def __call__(self, event: Event) -> None:
        if event.task == self.task and event.total and not self.killed:
            self.killed = self.pids[0]
            os.kill(self.killed, signal.SIGKILL)


def same(first: Path, second: Path) -> None:
    one, other = contents(first), contents(second)
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


@pytest.mark.slow
def test_a_search(tmp_path: Path) -> None:
    supernetic.search(**SEARCH, out=tmp_path / "here")
    with supernetic.cluster("local:2") as opened:
        killer = Killer(opened, "search")
        supernetic.search(**SEARCH, out=tmp_path / "there", on_event=killer)
    assert killer.killed
    same(tmp_path / "here", tmp_path / "there")
    assert not any(file.suffix in (".pkl", ".pickle") for file in (tmp_path / "there").rglob("*"))


@pytest.mark.slow
def test_a_choice(tmp_path: Path) -> None:
    supernetic.select(**SELECT, out=tmp_path / "here")
    with supernetic.cluster("local:2") as opened:
        killer = Killer(opened, "train")
        supernetic.select(**SELECT, out=tmp_path / "there", on_event=killer)
    assert killer.killed
    one, other = contents(tmp_path / "here"), contents(tmp_path / "there")
    for changes in (one, other):  # how fast this machine is
        del changes["run.toml"], changes["select.json"]
    assert one == other


@pytest.mark.slow
def test_a_scaling(tmp_path: Path) -> None:
    supernetic.scale(**SCALE, out=tmp_path / "here")
    with supernetic.cluster("local:2") as opened:
        killer = Killer(opened, "train")
        supernetic.scale(**SCALE, out=tmp_path / "there", on_event=killer)
    assert killer.killed
    same(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_a_ranking(tmp_path: Path) -> None:
    for place in ("here", "there"):
        supernetic.train(SPACE, limit=300, steps=4, threads=1, out=tmp_path / place)
    asked: dict[str, Any] = {"sample": 20, "sample_top": 5, "top": (5,), "truth": "mean_acc"}
    found = supernetic.rank(SPACE, score=str(tmp_path / "here"), **asked)
    with supernetic.cluster("local:2"):
        other = supernetic.rank(SPACE, score=str(tmp_path / "there"), **asked)
    assert found.tau == other.tau
    same(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_a_study_and_robustness(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(STUDY)
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
    supernetic.study(tmp_path / "tiny.toml", out=tmp_path / "here" / "tiny")
    with supernetic.cluster("local:2") as opened:
        killer = Killer(opened, "train")
        supernetic.study(tmp_path / "tiny.toml", out=tmp_path / "there" / "tiny", on_event=killer)
        assert killer.killed
        same(tmp_path / "here", tmp_path / "there")
        runs = sorted(f.parent for f in (tmp_path / "there" / "trainings").glob("*/supernet.safetensors"))
        alike = [r for r in runs if "skip:identity" not in (r / "run.toml").read_text()]
        spread = robustness(alike, n=30, images=64)
    found = robustness([tmp_path / "here" / "trainings" / run.name for run in alike], n=30, images=64)
    assert spread.between_seeds == found.between_seeds
    same(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_a_scheduler_is_killed_and_the_search_resumes(nodes: Callable[[], Any], tmp_path: Path) -> None:
    there, run = nodes(), tmp_path / "run"
    there.node(2)
    given = [f"--{k.replace('_', '-')}={v}" for k, v in SEARCH.items()]
    command = [sys.executable, "-m", "supernetic", "search", *given, "--out", str(run), "--quiet"]
    process = subprocess.Popen([*command, "--cluster", there.address], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 240
    while not (run / "trials.jsonl").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    there.kill(there.scheduler)
    _, errors = process.communicate(timeout=240)
    lines = [line for line in errors.splitlines() if line.strip()]
    assert process.returncode == 1
    assert lines == [f"supernetic: the scheduler of {there.address} is gone: run the same command again to resume"]
    again = nodes()
    again.node(1)
    subprocess.run([sys.executable, "-m", "supernetic", "resume", str(run), "--cluster", again.address], check=True)
    supernetic.search(**SEARCH, out=tmp_path / "here")
    same(tmp_path / "here", run)
