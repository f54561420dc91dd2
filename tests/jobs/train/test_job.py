from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic import catalog
from supernetic.commands.resume import resume
from supernetic.errors import InputError, RunError, SupernetError, UnknownNameError
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.jobs.train.job import TrainResult, train
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.progress import Event
from supernetic.runs.directory import open_run, read_records, read_settings
from supernetic.space import Space
from supernetic.tracking import Recorder
from supernetic.training.checkpoint import read
from supernetic.training.recipe import Recipe

TINY = "macro:channels=4,resolution=8,head=16"
EVERY = {
    "nasbench101": "nasbench101:channels=8,cells=1,resolution=8",
    "nasbench101-chain": "nasbench101-chain:channels=8,resolution=8",
    "nasbench201": "nasbench201:channels=4,cells=1,resolution=8",
    "transnas-micro": "transnas-micro:channels=4,cells=1,resolution=16",
    "macro": TINY,
    "scarlet-s1": "scarlet-s1:width=0.1,resolution=16",
    "scarlet-s2": "scarlet-s2:width=0.1,resolution=16",
    "attentive": "attentive:resolutions=12+16,width=0.1",
    "scalenet": "scalenet:width=0.1,resolution=16,released=true",
    "scalenet-base": "scalenet-base:width=0.1,resolution=16,released=true",
    "lite": "lite:width=0.1,resolution=16",
    "mixed": "mixed:channels=4,resolution=8",
    "deep-narrow": "deep-narrow:resolution=16",
    "shallow-wide": "shallow-wide:resolution=16",
}
RECIPE = """
length = "20 steps"
batch_size = 16
augment = "shift+flip"
lr = 0.1
dropout = 0.2
ema = 0.9
"""
KILLED = """
import os, signal, sys
import torch
torch.set_num_threads(1)
from supernetic.jobs.train.job import TrainResult, train

def watch(event):
    if event.total and event.done == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)

train({space!r}, recipe={recipe!r}, out={out!r}, limit=300, on_event=watch, processes={processes})
"""


def small(space: str | Space = TINY, **settings: Any) -> TrainResult:
    return train(space, **{"steps": 2, "limit": 300, **settings})


def test_every_catalogue_space_with_a_supernet_is_tried() -> None:
    assert set(EVERY) == {name for name in catalog.SPACES if catalog.space(name).sharing}


@pytest.mark.parametrize("name", EVERY)
def test_every_space_trains_and_can_be_loaded_again(name: str, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('length = "1 step"\nbatch_size = 8\nlr = 0.05\n')
    result = train(EVERY[name], recipe=recipe, limit=150, out=tmp_path / "run")
    assert result.loss is not None
    assert result.loss < 5
    assert (result.steps, result.run) == (1, str(tmp_path / "run"))
    assert "in_channels=1" in result.notes[0]
    supernet, dataset = load_supernet(tmp_path / "run")
    assert supernet.space.blueprint(tuple(supernet.space.sample(np.random.default_rng(0), 1)[0].tolist())).classes == 10
    evaluate = SupernetEvaluator(supernet, dataset, ["valid/accuracy"], images=8)
    arch = tuple(evaluate.space.sample(np.random.default_rng(0), 1)[0].tolist())
    assert 0 <= evaluate([arch])[0]["valid/accuracy"] <= 100


def kill_training(at: int, recipe: Path, out: Path, processes: int = 1) -> None:
    code = KILLED.format(space=TINY, recipe=str(recipe), out=str(out), processes=processes)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code, str(at)], capture_output=True, env=environment, check=False)
    assert done.returncode == -9, done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", [1, 7, 19])
def test_killed_at_any_step_and_resumed_the_weights_are_the_same_bytes(kill_at: int, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train(TINY, recipe=recipe, out=whole, limit=300)
    kill_training(kill_at, recipe, killed)
    with pytest.raises(RunError, match="not finished"):
        load_supernet(killed)
    train(TINY, recipe=recipe, out=killed, limit=300)
    for name in ("supernet.safetensors", "metrics.jsonl", "splits.json"):
        assert (whole / name).read_bytes() == (killed / name).read_bytes(), name


@pytest.mark.slow
def test_two_processes_train_together_and_resume_to_the_same_bytes(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE + 'warmup = "20 steps"\n')  # a low rate, at which roundings and BN decide little
    places = alone, whole, killed = [tmp_path / name for name in ("alone", "whole", "killed")]
    for n, out in ((1, alone), (2, whole)):
        train(TINY, recipe=recipe, limit=300, processes=n, out=out)
    kill_training(9, recipe, killed, processes=2)
    assert not (killed / "supernet.safetensors").exists()
    until_unlocked(killed)
    train(TINY, recipe=recipe, limit=300, processes=2, out=killed)
    for name in ("supernet.safetensors", "metrics.jsonl", "splits.json"):
        assert (whole / name).read_bytes() == (killed / name).read_bytes(), name
    assert [read_settings(p).get("processes") for p in places] == [None, 2, 2]
    losses = [[r["loss"] for r in read_records(p / "metrics.jsonl")] for p in places]
    assert losses[0] != losses[1] == pytest.approx(losses[0], rel=0.05)  # BN sees half a batch


@pytest.mark.slow
def test_with_shared_bn_two_processes_are_one_with_the_whole_batch(tmp_path: Path) -> None:
    """Elastic weights too, of which BN sees slices. Without it the losses differ: each process has half a batch."""
    weights: dict[str, dict[str, Any]] = {}
    losses: dict[str, list[float]] = {}
    for name, processes, shared in (("one", 1, True), ("two", 2, True), ("apart", 2, False)):
        recipe = Recipe(length="4 steps", batch_size=8, lr=0.05, sync_bn=shared)
        train(EVERY["attentive"], recipe=recipe, limit=300, processes=processes, threads=1, out=tmp_path / name)
        weights[name] = read(tmp_path / name / "supernet.safetensors")[0]
        losses[name] = [r["loss"] for r in read_records(tmp_path / name / "metrics.jsonl")]
    assert losses["two"] == pytest.approx(losses["one"], rel=1e-4)
    assert losses["apart"] != pytest.approx(losses["one"], rel=1e-3)
    for name, tensor in weights["one"].items():
        assert np.allclose(weights["two"][name], tensor, rtol=1e-3, atol=1e-4), name
    recorded = [read_settings(tmp_path / name)["recipe"].get("sync_bn") for name in ("one", "apart")]
    assert recorded == [True, None]


def until_unlocked(run: Path) -> None:
    """Processes end a moment after the one that started them."""
    settings = {k: v for k, v in read_settings(run).items() if k != "versions"}
    for _ in range(600):
        try:
            open_run(run, settings).close()
        except RunError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"{run} is still in use")


@pytest.mark.slow
def test_a_failure_in_several_processes_is_the_same_error(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('length = "9 steps"\nbatch_size = 8\nlr = 1e30\n')
    with pytest.raises(SupernetError, match=r"^training diverged: the loss of step"):
        small(recipe=recipe, steps=None, processes=2, out=tmp_path / "run")
    with pytest.raises(InputError, match="a batch must divide over 3 processes, got 8 images"):
        small(recipe=recipe, processes=3, dry_run=True)


@pytest.mark.parametrize("text", ["0%", "100%", "2", "-1", "0"])
def test_snapshots_lie_inside_the_training(text: str) -> None:
    with pytest.raises(InputError, match=r"before the last of 2, got '.*'"):
        small(snapshots=text, dry_run=True)


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    steps = []

    def watch(event: Event) -> None:
        if event.total:
            steps.append(event.done)

    first = small(out=tmp_path / "run", on_event=watch)
    assert small(out=tmp_path / "run", on_event=watch) == first
    assert steps == [1, 2]
    assert json.loads((tmp_path / "run/result.json").read_text()) == first.to_json()


def test_tensorboard_shows_the_same_losses_and_changes_nothing_else(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    small(out=tmp_path / "with", track="tensorboard")
    small(out=tmp_path / "without")
    scalars = events.EventAccumulator(str(tmp_path / "with/tensorboard/supernet")).Reload().Scalars("loss")
    recorded = [r["loss"] for r in read_records(tmp_path / "without/metrics.jsonl")]
    assert [s.value for s in scalars] == pytest.approx(recorded)
    for name in ("supernet.safetensors", "metrics.jsonl", "run.toml"):
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes(), name
    assert not (tmp_path / "without/tensorboard").exists()


def test_without_tensorboard_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"supernetic\[tracking\]"):
        small(out=tmp_path / "run", track="tensorboard")
    assert not (tmp_path / "run").exists()


def test_an_interrupted_training_is_tracked_to_its_end_when_it_is_resumed(tmp_path: Path) -> None:
    def interrupt(event: Event) -> None:
        if event.done == 13:
            raise KeyboardInterrupt

    before, after = Recorder(), Recorder()
    with pytest.raises(KeyboardInterrupt):
        small(out=tmp_path / "run", steps=30, track=before, on_event=interrupt)
    resume(tmp_path / "run", track=after)
    steps = [row.step for row in before.rows["supernet"] + after.rows["supernet"]]
    assert steps == [r["step"] for r in read_records(tmp_path / "run/metrics.jsonl")]
    assert before.closed
    assert before.results == {}
    assert after.results["steps"] == 30


def test_other_settings_are_refused(tmp_path: Path) -> None:
    small(out=tmp_path / "run")
    with pytest.raises(RunError, match="seed is 0 there, 1 here"):
        small(out=tmp_path / "run", seed=1)


def test_a_dry_run_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = small(dry_run=True)
    assert result.run is None
    assert result.parameters > 1000
    assert result.memory == 3 * 4 * result.parameters
    assert "dry run" in str(result)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"steps": 0}, InputError, "steps must be at least 1, got 0"),
        ({"processes": 0}, InputError, "processes must be at least 1, got 0"),
        ({"limit": 0}, InputError, "limit must be at least 1, got 0"),
        ({"sampler": "uniformly"}, UnknownNameError, "did you mean 'uniform'"),
        ({"device": "tpu"}, UnknownNameError, "unknown device 'tpu'"),
        ({"precision": "fp8"}, UnknownNameError, "unknown precision 'fp8'"),
        ({"precision": "bf16", "device": "cpu"}, InputError, "mixed precision is for GPUs"),
        ({"space": "efficientnet"}, InputError, "efficientnet has no supernet"),
        ({"space": "macros"}, UnknownNameError, "did you mean 'macro'"),
        ({"data": "embeded"}, UnknownNameError, "did you mean 'embedded'"),
        ({"recipe": "missing.toml"}, InputError, "missing.toml"),
    ],
)
def test_bad_input(settings: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        small(**{"dry_run": True, **settings})
