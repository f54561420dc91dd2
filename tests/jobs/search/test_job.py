from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch

from supernetic.commands.resume import resume
from supernetic.datasets import load
from supernetic.errors import BudgetError, DataError, InputError, RunError
from supernetic.jobs.search.job import search
from supernetic.jobs.search.result import SearchResult
from supernetic.ranking.sentences import trust_sentences
from supernetic.runs.directory import open_run, read_records, read_settings

COMPARED = ["supernet.safetensors", "trials.jsonl", "metrics.jsonl"]
COMMAND = "from supernetic.jobs.search.job import search; search(**{settings!r}, out={out!r})"
MOMENTS: dict[str, Callable[[Path], bool]] = {
    "train": lambda run: (run / "metrics.jsonl").exists(),
    "search": lambda run: (run / "trials.jsonl").exists(),
    "compare": lambda run: any((run / "networks").glob("*/metrics.jsonl")),
    "test": lambda run: (run / "trained.json").exists(),
    "export": lambda run: (run / "trust.json").exists(),
}


def contents(run: Path) -> dict[str, bytes]:
    files = [*(run / name for name in COMPARED), *sorted(run.glob("models/*/model.safetensors"))]
    return {str(f.relative_to(run)): f.read_bytes() for f in files}


def killed(small: dict[str, Any], run: Path, moment: Callable[[Path], bool]) -> None:
    """Start a search in a process of its own and kill it at a moment."""
    code = COMMAND.format(settings=small, out=str(run))
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "OMP_NUM_THREADS": "1"})
    until = time.monotonic() + 300
    while not moment(run) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_killed_in_every_step_it_ends_the_same(small: dict[str, Any], tmp_path: Path, finished: SearchResult) -> None:
    run = tmp_path / "run"
    for moment in MOMENTS.values():
        killed(small, run, moment)
        assert not (run / "result.json").exists()
    resume(run)
    assert contents(run) == contents(Path(finished.run))


def test_a_finished_search_answers_again(small: dict[str, Any], finished: SearchResult) -> None:
    before = {p: p.stat().st_mtime_ns for p in Path(finished.run).rglob("*.safetensors")}
    assert search(**small, out=finished.run) == finished
    assert before == {p: p.stat().st_mtime_ns for p in Path(finished.run).rglob("*.safetensors")}


def test_other_settings_and_a_second_process_are_refused(
    small: dict[str, Any], finished: SearchResult, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match="belongs to other settings"):
        search(**{**small, "keep": 2}, out=finished.run)
    copy = tmp_path / "copy"
    shutil.copytree(finished.run, copy)
    settings = {k: v for k, v in read_settings(copy).items() if k != "versions"}
    with open_run(copy, settings), pytest.raises(RunError, match="in use by another process"):
        search(**small, out=copy)


def test_a_dry_run_writes_nothing(small: dict[str, Any], tmp_path: Path) -> None:
    told: list[str] = []
    plan = search(**small, out=tmp_path / "run", dry_run=True, on_event=lambda e: told.append(str(e)))
    assert plan.planned is not None
    assert plan.planned.plan["supernet_steps"] == 12
    assert "dry run" in str(plan)
    assert any("networks satisfy" in line for line in told)
    assert not (tmp_path / "run").exists()


def test_inherited_weights_can_be_trained_on(small: dict[str, Any], tmp_path: Path) -> None:
    found = search(**{**small, "retrain": "inherit", "keep": 1}, out=tmp_path / "run")
    start = [read_settings(p)["start"] for p in (tmp_path / "run/networks").iterdir() if p.is_dir()]
    assert any(s != "scratch" for s in start)
    assert list(found.models) == ["model-1"]


def test_nothing_need_be_trained(small: dict[str, Any], tmp_path: Path) -> None:
    found = search(**{**small, "retrain": "none", "keep": 2}, out=tmp_path / "run")
    assert not (tmp_path / "run/networks").exists()
    assert list(found.models) == ["model-1", "model-2"]
    assert trust_sentences(found.trust)[0].endswith("is unknown: n = 0 is too small.")
    assert all((r.test or {})["test/accuracy"] for r in found.networks)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"where": ["macs<=1K"]}, BudgetError, "macs.*run from"),
        ({"where": ["macs>=1G"]}, BudgetError, "macs.*run from"),
        ({"where": ["macs<=20K", "macs>=30K"]}, InputError, "macs"),
        ({"where": ["speed<=3"]}, InputError, "unknown metric 'speed'"),
        ({"objectives": ["max test/accuracy"]}, InputError, "test data"),
        ({"space": "makro"}, InputError, "macro"),
        ({"data": "nowhere/at/all"}, DataError, "does not exist"),
        ({"baselines": ["missing.py"]}, InputError, "missing.py"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    small: dict[str, Any], tmp_path: Path, settings: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        search(**{**small, **settings}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_read_only_place_is_named(small: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        search(**small, out=tmp_path / "file" / "run")


def test_a_damaged_plan_is_named(small: dict[str, Any], finished: SearchResult, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished.run, run)
    settings = read_settings(run)
    del settings["plan"]
    (run / "run.toml").write_text(tomli_w.dumps(settings))
    with pytest.raises(RunError, match=r"run.toml holds no plan that can be followed: KeyError: 'plan'"):
        search(**small, out=run)


def test_no_step_is_taken_twice(finished: SearchResult, tmp_path: Path) -> None:
    """Without its last file, a run goes on with the last step alone: the test split is not read again."""
    run = tmp_path / "run"
    shutil.copytree(finished.run, run)
    for name in ("exported.json", "result.json"):
        (run / name).unlink()
    before = len(read_records(run / "timings.jsonl"))
    resume(run)
    assert [r["task"] for r in read_records(run / "timings.jsonl")[before:]] == ["plan", "export"]


@pytest.mark.parametrize("kind", ["arrays", "torch"])
def test_images_may_be_given_from_python(
    kind: str, small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUPERNETIC_CACHE", str(tmp_path / "cache"))
    embedded = load("embedded", limit=300)
    pixels = torch.from_numpy(embedded.images).permute(0, 3, 1, 2).float() / 255
    dataset = torch.utils.data.TensorDataset(pixels, torch.from_numpy(embedded.labels.astype("int64")))
    data: Any = (embedded.images, embedded.labels) if kind == "arrays" else dataset
    result = search(data, **{**small, "limit": None}, dry_run=True, out=tmp_path / "run")
    assert result.planned is not None
    assert not (tmp_path / "run").exists()
