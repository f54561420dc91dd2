from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from supernetic.datasets import load
from supernetic.errors import InputError, RunError, SupernetError
from supernetic.evaluators.standalone import StandaloneEvaluator
from supernetic.networks.baselines import baseline
from supernetic.networks.pool import METRICS, Trained, Training, evaluate, keep_weights, read_trained, train_all
from supernetic.nn.network import Network, build
from supernetic.parallel.process import WorkerProcess
from supernetic.runs.directory import open_run, read_settings
from supernetic.runs.trust import trusting
from supernetic.samplers.uniform import Uniform
from supernetic.spaces.macro import Macro
from supernetic.training.checkpoint import read
from supernetic.training.recipe import Recipe

LOADING = {"source": "embedded", "limit": 200, "resolution": 12, "seed": 0}
SPACE = Macro(channels=4, resolution=12, classes=10, in_channels=1, head=16)
RECIPE = Recipe(length="20 steps", batch_size=16, lr=0.1, augment="shift+flip", dropout=0.1, ema=0.9)
ARCHS = [(1, 0, 1, 0, 0, 1, 0, 0), (2, 0, 0, 1, 0, 0, 0, 2), (0,) * 8]
BASELINE = """
from torch import nn
def build(classes, in_channels, resolution):
    return nn.Sequential(nn.Conv2d(in_channels, 6, 3, 2), nn.BatchNorm2d(6), nn.Flatten(), nn.Linear(150, classes))
"""
KILLED = """
import os, pickle, signal, sys
from pathlib import Path
from supernetic.networks.pool import train_all

def watch(i, done, steps):
    if done > steps / 10:
        os.kill(os.getpid(), signal.SIGKILL)

train_all(pickle.loads(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2]), workers=2, progress=watch)
"""


def asked(arch: tuple[int, ...] = ARCHS[0], **settings: object) -> Training:
    return Training(SPACE.blueprint(arch), **{"recipe": RECIPE, "seed": 0, "loading": LOADING, **settings})  # type: ignore[arg-type]


def files(directory: Path) -> dict[str, bytes]:
    """All that must not depend on interruptions."""
    kept = ("run.toml", "metrics.jsonl", "weights.safetensors", "result.json")
    return {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.name in kept}


def test_a_training_is_a_run_that_says_all(tmp_path: Path) -> None:
    seen = []
    (found,) = train_all([asked()], tmp_path, workers=1, progress=lambda *at: seen.append(at))
    assert found.path == tmp_path / asked().key
    assert set(found.metrics) == set(METRICS)
    assert seen[-1] == (0, 20, 20)
    settings = read_settings(found.path)
    assert (settings["start"], settings["seed"]) == ("scratch", 0)
    records = [json.loads(line) for line in (found.path / "metrics.jsonl").read_text().splitlines()]
    assert records[-1]["task"] == "network"
    assert records[-1]["step"] == 20
    assert json.loads((found.path / "result.json").read_text()) == {"metrics": found.metrics}


def test_it_gives_the_numbers_of_the_stand_alone_evaluator(tmp_path: Path) -> None:
    data = load(**LOADING)  # type: ignore[arg-type]
    said = StandaloneEvaluator(SPACE, data, RECIPE, METRICS)(ARCHS[:1])
    (found,) = train_all([asked()], tmp_path, workers=1)
    assert [found.metrics] == said
    network = found.load()
    assert isinstance(network, Network)
    metrics, correct = evaluate(network, data, "valid")
    assert metrics == found.metrics
    assert correct.dtype == bool
    assert 100 * correct.mean() == pytest.approx(metrics["valid/accuracy"])
    assert set(evaluate(network, data, "test")[0]) == {name.replace("valid", "test") for name in METRICS}


def test_keys_follow_from_everything_that_matters_and_nothing_else() -> None:
    data = load(**LOADING).fingerprint  # type: ignore[arg-type]
    one = asked(data=data)
    assert len(one.key) >= 12
    assert one.key == asked().key == asked(loading={}, data=data).key
    assert one.key == asked(data=data, recipe=replace(RECIPE, title="x", source="y")).key
    others = [
        asked(ARCHS[1], data=data),
        asked(seed=1, data=data),
        asked(recipe=replace(RECIPE, lr=0.2), data=data),
        asked(data="other"),
        asked(data=data, processes=2),
        asked(data=data, processes=3),
        asked(data=data, device="cuda"),
        asked(data=data, device="cuda", precision="bf16"),
    ]
    assert len({t.key for t in [one, *others]}) == 9
    assert asked(data=data, device="cuda:1").key == asked(data=data, device="cuda").key
    assert one.key == asked(data=data, device="cpu", precision="no").key
    assert not {"device", "precision"} & one.settings.keys()
    assert one.key == asked(data=data, processes=1).key
    assert "processes" not in one.settings
    assert pickle.loads(pickle.dumps(one)).key == one.key


def test_nothing_is_trained_twice(tmp_path: Path) -> None:
    seen: list[int] = []
    first = train_all([asked(), asked(ARCHS[1]), asked()], tmp_path, workers=1, progress=lambda i, *_: seen.append(i))
    assert first[0] == first[2]
    assert set(seen) == {0, 1}
    seen.clear()
    before = files(tmp_path)
    again = train_all([asked(ARCHS[1]), asked()], tmp_path, workers=2, progress=lambda i, *_: seen.append(i))
    assert again == [first[1], first[0]]
    assert not seen
    assert files(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_killed_in_the_middle_and_resumed_all_files_are_the_same(processes: int, tmp_path: Path) -> None:
    archs = ARCHS if processes == 1 else ARCHS[:1]
    wanted = [asked(a, recipe=replace(RECIPE, length="40 steps"), processes=processes) for a in archs]
    (tmp_path / "wanted").write_bytes(pickle.dumps(wanted))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "wanted"), str(killed)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == -9, done.stderr.decode()
    assert list(killed.glob("*/checkpoints/network/*"))
    assert not all((killed / t.key / "result.json").exists() for t in wanted)
    resumed = train_all(wanted, killed, workers=2)  # at once, while the old workers may still be there
    undisturbed = train_all(wanted, whole, workers=1)
    assert [r.metrics for r in resumed] == [u.metrics for u in undisturbed]
    assert files(killed) == files(whole)
    assert len(files(whole)) == 4 * len(archs)


@pytest.mark.slow
def test_two_processes_train_one_network_about_as_well_as_one(tmp_path: Path) -> None:
    recipe = Recipe(length="60 steps", batch_size=16, lr=0.05)
    seen: list[tuple[int, int, int]] = []
    both = [asked(recipe=recipe, processes=2), asked(recipe=recipe)]
    together, alone = train_all(both, tmp_path, workers=2, progress=lambda *at: seen.append(at))
    assert (0, 60, 60) in seen
    assert read_settings(together.path)["processes"] == 2
    assert together.metrics != alone.metrics  # each process has BN statistics of its own
    for name, value in together.metrics.items():
        assert value == pytest.approx(alone.metrics[name], rel=0.25, abs=15), name
    network = together.load()
    assert isinstance(network, Network)
    assert evaluate(network, load(**LOADING), "valid")[0] == together.metrics  # type: ignore[arg-type]
    assert train_all(both[:1], tmp_path, workers=1, progress=lambda *_: pytest.fail("trained twice")) == [together]


@pytest.mark.slow
def test_two_processes_begin_with_inherited_weights_and_end_alike(tmp_path: Path) -> None:
    network = build(SPACE.blueprint(ARCHS[0]), seed=7)
    start = keep_weights(network, tmp_path / "start")
    slow = replace(RECIPE, length="1 step", lr=1e-9, ema=0.0)
    (found,) = train_all([asked(recipe=slow, inherit=start, processes=2)], tmp_path / "networks", workers=2)
    expected = dict(network.named_parameters())
    for name, tensor in found.load().named_parameters():
        torch.testing.assert_close(tensor, expected[name], atol=1e-6, rtol=0)


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_a_training_that_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, started = asked(processes=2), []

    class Spied(WorkerProcess):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            started.append(self.process)

    def kill_one(*_: object) -> None:
        started[-1].kill()

    monkeypatch.setattr("supernetic.parallel.ranks.WorkerProcess", Spied)
    with pytest.raises(SupernetError, match=r"process 2 of 2 was ended by signal 9"):
        train_all([together], tmp_path, workers=2, progress=kill_one)
    assert not (tmp_path / together.key / "result.json").exists()
    assert train_all([together], tmp_path, workers=2)[0].reason == ""


@pytest.mark.slow
def test_a_training_of_two_processes_that_diverges_is_recorded(tmp_path: Path) -> None:
    wild = asked(recipe=Recipe(length="12 steps", batch_size=16, lr=1e30), processes=2)
    (lost,) = train_all([wild], tmp_path, workers=2)
    assert "training diverged" in lost.reason
    assert all(isnan(v) for v in lost.metrics.values())
    assert not (lost.path / "weights.safetensors").exists()


def test_a_training_starts_from_inherited_weights(tmp_path: Path) -> None:
    network = build(SPACE.blueprint(ARCHS[0]), seed=7)
    start = keep_weights(network, tmp_path / "start")
    assert keep_weights(network, tmp_path / "start") == start
    slow = replace(RECIPE, length="1 step", lr=1e-9, ema=0.0)
    fresh, inherited = asked(recipe=slow), asked(recipe=slow, inherit=start)
    assert fresh.key != inherited.key
    scratch, found = train_all([fresh, inherited], tmp_path / "networks", workers=1)
    expected = dict(network.named_parameters())
    for name, tensor in found.load().named_parameters():
        torch.testing.assert_close(tensor, expected[name], atol=1e-6, rtol=0)
    assert not torch.equal(next(iter(scratch.load().parameters())), next(iter(expected.values())))
    with pytest.raises(InputError, match="of another network"):
        train_all([asked(ARCHS[1], inherit=start)], tmp_path / "networks", workers=1)


def test_a_training_that_diverges_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    wild = asked(recipe=Recipe(length="12 steps", batch_size=16, lr=1e30))
    lost, found = train_all([wild, asked()], tmp_path, workers=1)
    assert all(isnan(v) for v in lost.metrics.values())
    assert "training diverged" in lost.reason
    record = json.loads((lost.path / "result.json").read_text())
    assert record["metrics"] == dict.fromkeys(METRICS)
    assert not (lost.path / "weights.safetensors").exists()
    assert found.metrics["valid/accuracy"] > 0
    again = read_trained(lost.path)
    assert (again.key, again.reason) == (lost.key, lost.reason)
    with pytest.raises(RunError, match="holds no network"):
        again.load()


def test_baselines_are_trained_alike_and_kept_by_their_text(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BASELINE)
    mine = Training(baseline(file, 10, 1, 12), RECIPE, 0, LOADING)
    (found,) = train_all([mine], tmp_path / "networks", workers=1)
    file.rename(tmp_path / "ours.py")
    renamed = Training(baseline(tmp_path / "ours.py", 10, 1, 12), RECIPE, 0, LOADING)
    assert train_all([renamed], tmp_path / "networks", workers=1) == [found]
    with pytest.raises(RunError, match="--trust-code"):
        found.load()
    with trusting(True):
        metrics, _ = evaluate(found.load(), load(**LOADING), "valid", resolution=12)  # type: ignore[arg-type]
    assert metrics == found.metrics
    (tmp_path / "ours.py").write_text(BASELINE + "\n# another\n")
    assert Training(baseline(tmp_path / "ours.py", 10, 1, 12), RECIPE, 0, LOADING).key != mine.key


def test_settings_that_are_not_those_of_the_key_are_refused(tmp_path: Path) -> None:
    (found,) = train_all([asked()], tmp_path, workers=1)
    file = found.path / "run.toml"
    file.write_text(file.read_text().replace("seed = 0", "seed = 1"))
    for reading in (lambda: read_trained(found.path), found.load):
        with pytest.raises(RunError, match="not the training that its name stands for"):
            reading()


def test_bad_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sampler"):
        asked(recipe=Recipe(sampler=Uniform()))
    with pytest.raises(InputError, match="workers must be at least 1, got 0"):
        train_all([asked()], tmp_path, workers=0)
    with pytest.raises(RunError, match="of other data"):
        train_all([asked(data="0" * 64)], tmp_path, workers=1)
    with pytest.raises(RunError, match="no finished training"):
        read_trained(tmp_path)
    with pytest.raises(InputError, match="length must be at least one step"):
        train_all([asked(recipe=Recipe(length="0 steps"))], tmp_path, workers=1)


def test_a_lock_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supernetic.networks.pool.LOCK_PATIENCE_S", 0.3)
    with open_run(tmp_path / asked().key, asked().settings), pytest.raises(RunError, match="in use"):
        train_all([asked()], tmp_path, workers=1)
    assert train_all([asked()], tmp_path, workers=1)[0].reason == ""


def test_weights_are_whole_files_with_a_checksum(tmp_path: Path) -> None:
    (found,) = train_all([asked()], tmp_path, workers=1)
    tensors, notes = read(found.path / "weights.safetensors")
    assert notes["sha256"]
    assert np.isfinite(sum(float(t.sum()) for t in tensors.values()))
    damaged = bytearray((found.path / "weights.safetensors").read_bytes())
    damaged[-3] ^= 1
    (found.path / "weights.safetensors").write_bytes(damaged)
    with pytest.raises(RunError, match="damaged"):
        Trained(found.key, found.path, found.metrics).load()


def test_threads_do_not_matter(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    one = train_all([asked()], tmp_path / "a", workers=1)
    torch.set_num_threads(2)
    try:
        two = train_all([asked()], tmp_path / "b", workers=1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert one[0].metrics == two[0].metrics
    assert os.environ["OMP_NUM_THREADS"] == "1"
