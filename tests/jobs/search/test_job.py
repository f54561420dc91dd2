from __future__ import annotations

import json
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
from supernetic.jobs.search.job import SearchJob, _goals, _needs_supernet, search
from supernetic.jobs.search.request import SearchRequest
from supernetic.jobs.search.result import SearchResult
from supernetic.jobs.speed import Speed
from supernetic.ranking.sentences import trust_sentences
from supernetic.runs.directory import open_run, read_records, read_settings
from supernetic.searchers.nsga2 import NSGA2

COMPARED = [
    "supernet.safetensors", "trials.jsonl", "metrics.jsonl", "trained.json", "finished.json", "predictions.json",
    "mistakes.json", "quantised.json",
]  # fmt: skip
COMMAND = "from supernetic.jobs.search.job import search; search(**{settings!r}, out={out!r})"
RACE = """
from supernetic.jobs.search.job import SearchJob
from supernetic.jobs.search.plan import SearchPlan
SearchJob._plan_work = lambda *_: SearchPlan(
    supernet_steps=0, population=4, generations=3, networks=6, network_steps=0, workers=2, models=2,
    rounds=(0.3, 0.3), sizes=(6, 2), cheaper=0.3, finish=5.0, limit=40.0,
)
"""  # a race of seconds, however fast the machine is
TIMED: dict[str, Any] = {
    "space": "mixed:channels=4,resolution=8", "where": ["macs<=100K"], "limit": 400, "workers": 2, "threads": 1,
}  # fmt: skip
MOMENTS: dict[str, Callable[[Path], bool]] = {
    "train": lambda run: (run / "metrics.jsonl").exists(),
    "search": lambda run: (run / "trials.jsonl").exists(),
    "compare": lambda run: any((run / "networks").glob("*/metrics.jsonl")),
    "finish": lambda run: (run / "trained.json").exists(),
    "quantise": lambda run: (run / "finished.json").exists(),
    "test": lambda run: (run / "quantised.json").exists(),
    "export": lambda run: (run / "trust.json").exists(),
}


def contents(run: Path) -> dict[str, bytes]:
    models = [*run.glob("models/*/model.safetensors"), *run.glob("models/*/model.int8.onnx")]
    files = [*(run / name for name in COMPARED), *sorted(models)]
    return {str(f.relative_to(run)): f.read_bytes() for f in files}


def killed(small: dict[str, Any], run: Path, moment: Callable[[Path], bool], before: str = "") -> None:
    """Start a search in a process of its own and kill it at a moment."""
    code = before + COMMAND.format(settings=small, out=str(run))
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


def decisions(run: Path) -> list[Any]:
    return read_records(run / "decisions.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("minutes", [0.05, 0.3])
def test_a_search_of_seconds_ends_with_a_model(minutes: float, tmp_path: Path) -> None:
    found = search(**TIMED, minutes=minutes, out=tmp_path / "run")
    assert list(found.models) == ["model-1"]
    assert found.models["model-1"].load()(torch.zeros(2, 1, 8, 8)).shape == (2, 10)
    (best,) = [n for n in found.networks if n.recommended]
    assert best.name == "model-1"
    assert best.steps == decisions(tmp_path / "run")[0]["steps"]["plain"]
    assert not (tmp_path / "run/supernet.safetensors").exists()
    assert resume(tmp_path / "run").to_json() == found.to_json()


def test_a_teacher_without_a_race_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a teacher needs a race, for which 3 s are too short here"):
        search(**TIMED, minutes=0.05, teacher=True, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_teacher_that_is_killed_goes_on_and_its_student_learns_from_it(tmp_path: Path) -> None:
    """Two searches that decide alike end with the same weights, one of them after a kill in the teacher's training."""
    run, settings = tmp_path / "run", {**TIMED, "minutes": 0.6, "augment": "light", "teacher": True, "keep": 1}
    plan = RACE.replace("finish=5.0", "finish=5.0, teacher=8.0")
    killed(settings, run, lambda run: any(d["decision"].startswith("teach") for d in decisions(run)), plan)
    told = decisions(run)
    copy = tmp_path / "copy"
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns("*.lock"))
    found = resume(run)
    assert isinstance(found, SearchResult)
    assert decisions(run)[: len(told)] == told
    (best,) = [n for n in found.networks if n.recommended]
    teacher = best.teacher
    assert teacher is not None
    assert best.macs is not None
    assert 2 * best.macs < teacher.macs <= 7 * 100_000  # the other of the last two may have had its size
    assert teacher.steps == sum(d["steps"]["teacher"] for d in decisions(run) if d["decision"].startswith("teach"))
    assert (run / "networks" / teacher.key / "weights.safetensors").exists()
    assert teacher.asked == (run / "targets.safetensors").exists()
    last = [read_settings(run / "networks" / key) for key in best.trainings]
    assert ["targets" in training for training in last] == [False] * (len(last) - 1) + [teacher.asked]
    if teacher.asked:
        assert last[-1]["recipe"].get("label_smoothing", 0.0) == 0.0
    (copy / "decisions.jsonl").write_bytes((run / "decisions.jsonl").read_bytes())
    resume(copy)
    assert (run / "finished.json").read_bytes() == (copy / "finished.json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("evidence", ["short", "full", "none"])
def test_a_race_killed_in_any_round_goes_on_as_it_was_decided(evidence: str, tmp_path: Path) -> None:
    run, settings = tmp_path / "run", {**TIMED, "minutes": 0.6, "augment": "light", "evidence": evidence, "keep": 2}
    killed(settings, run, MOMENTS["compare"], RACE)
    first = decisions(run)
    assert [d["decision"] for d in first] == ["round-1"]
    assert len(first[0]["steps"]) >= 2
    killed(settings, run, lambda run: any(d["decision"].startswith("finish") for d in decisions(run)))
    told = decisions(run)
    assert told[0] == first[0]
    assert not (run / "result.json").exists()
    copy = tmp_path / "copy"
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns("*.lock"))
    found = resume(run)
    assert isinstance(found, SearchResult)
    resume(copy)
    assert decisions(run) == decisions(copy) == told
    assert (run / "finished.json").read_bytes() == (copy / "finished.json").read_bytes()
    models = [{p.parent.name: p.read_bytes() for p in r.glob("models/*/model.safetensors")} for r in (run, copy)]
    assert models[0] == models[1]
    assert set(models[0]) == set(found.models)
    (best,) = [n for n in found.networks if n.recommended]
    old = next(r["name"] for r in json.loads((run / "trained.json").read_text()) if r["key"] == best.first_key)
    assert best.steps == sum(d["steps"].get(old, 0) for d in told)
    assert found.models["model-1"].load()(torch.zeros(2, 1, 8, 8)).shape == (2, 10)
    controls = [n for n in found.networks if not n.chosen and n.role != "candidate"]
    assert bool(controls) == (evidence != "none")
    if evidence == "full":
        assert all(n.first_key for n in controls)


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ({"preset": "scarlet"}, ["search: 8,400 networks, 70 a generation"]),
        ({"population": 6, "generations": 4}, ["search: 24 networks, 6 a generation"]),
        ({"evaluations": 30, "population": None, "generations": None}, ["search: 30 networks"]),
        ({"population": 6, "generations": 4, "minutes": 1.0}, ["search: 24 networks, 6 a generation"]),
        ({"evaluations": 30, "minutes": 1.0}, ["search: 30 networks"]),
    ],
)
def test_the_plan_that_is_told_is_the_one_that_runs(
    small: dict[str, Any], asked: dict[str, Any], lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supernetic.jobs.search.job.measure", lambda *_, **__: Speed(0.01, 0.001, 0.01, 0.01))
    rest = {k: v for k, v in small.items() if k not in ("population", "generations")}
    if "minutes" in asked:
        rest = {k: v for k, v in rest.items() if k not in ("steps", "network_steps")}
    told: list[str] = []
    request = SearchRequest(**{**rest, "augment": "light", **asked})
    job = SearchJob.prepare(request, lambda e: told.append(str(e)))
    plan = job.plan(None, 0.0)
    for line in lines:
        assert any(text.startswith(line) for text in plan.lines()), plan.lines()
    searcher, evaluations = job._searcher(plan)
    assert isinstance(searcher, NSGA2)
    assert (searcher.population, searcher.generations) == (plan.population, plan.generations)
    assert evaluations in (None, plan.evaluations)
    assert job.settings(plan)["searcher"]["generations"] == plan.generations


def test_a_preset_is_fitted_to_a_time(small: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supernetic.jobs.search.job.measure", lambda *_, **__: Speed(0.01, 0.02, 0.01, 0.01))
    rest = {k: small[k] for k in ("space", "where", "limit", "workers", "threads")}
    request = SearchRequest(**rest, preset="scarlet", minutes=3.0, augment="light")
    job = SearchJob.prepare(request, lambda _: None)
    plan = job.plan(None, 0.0)
    assert 12 <= plan.evaluations < 200
    searcher, _ = job._searcher(plan)
    assert isinstance(searcher, NSGA2)
    assert (searcher.population, searcher.generations) == (plan.population, plan.generations)
    assert searcher.weights == (0.4, 0.4, 0.2)


@pytest.mark.parametrize(
    ("asked", "trains", "reason"),
    [
        ({}, True, "no time limit"),
        ({"minutes": 1.0}, False, "short trainings take its place"),
        ({"supernet": "no"}, False, ""),
        ({"minutes": 1.0, "supernet": "yes"}, True, "as asked for"),
        ({"minutes": 1.0, "retrain": "inherit"}, True, "--retrain inherit needs"),
        ({"minutes": 1.0, "steps": 5}, True, "--steps needs"),
        ({"minutes": 1.0, "objectives": ["max valid/accuracy", "min macs"]}, True, "valid/accuracy needs"),
        ({"minutes": 1.0, "objectives": ["min subset_training", "min macs"]}, False, ""),
    ],
)
def test_a_supernet_is_trained_where_it_is_needed(asked: dict[str, Any], trains: bool, reason: str) -> None:
    request = SearchRequest(**asked)
    found = _needs_supernet(request, _goals(request))
    assert found[0] == trains
    assert reason in found[1]


@pytest.mark.parametrize(
    ("asked", "sampler"),
    [
        ({"minutes": 1.0}, "budgeted"),
        ({"minutes": 1.0, "sampler": "uniform"}, "uniform"),
        ({"minutes": 1.0, "where": ["macs<=50M"]}, "sandwich"),  # nearly all networks are within it
        ({}, "sandwich"),  # there is time for the whole space
    ],
)
def test_within_a_time_limit_a_supernet_is_trained_within_the_limits(asked: dict[str, Any], sampler: str) -> None:
    space = "mixed:channels=8,resolution=28,classes=10,in_channels=1"
    request = SearchRequest(**{"space": space, "limit": 300, "supernet": "yes", "where": ["macs<=500K"], **asked})
    told: list[str] = []
    job = SearchJob.prepare(request, lambda event: told.append(str(event)))
    assert job.training.recipe.settings()["sampler"]["name"] == sampler
    assert any("trained only on networks with macs<=500K" in line for line in told) == (sampler == "budgeted")


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
    assert list(found.models) in (["model-1"], ["model-1", "model-2"])  # if the second is of any use
    assert all(n.exports_inherited for n in found.networks if n.chosen)
    assert trust_sentences(found.trust)[0].endswith("is unknown: n = 0 is too small.")
    assert all((r.test or {})["test/accuracy"] for r in found.networks if r.arch is not None)


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
        (
            {"supernet": "no", "retrain": "inherit"},
            InputError,
            "^--retrain inherit needs a supernet, got --supernet no$",
        ),
        ({"supernet": "no"}, InputError, "^--steps needs a supernet"),
        ({"augment": "lihgt"}, InputError, "lihgt"),
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
