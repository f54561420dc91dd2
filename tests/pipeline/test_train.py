from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.errors import InputError, RunError, SupernetError, UnknownNameError
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.pipeline.train import TrainResult, load_supernet, train
from supernetic.run import open_run, read_records, read_settings
from supernetic.space import Space
from supernetic.spaces.macro import Macro
from supernetic.timing.lookup import measure_table
from supernetic.training.loop import Progress

TINY = "macro:channels=4,side=8,head=16"
EVERY = {
    "nasbench101": "nasbench101:channels=8,cells=1,side=8",
    "nasbench101-chain": "nasbench101-chain:channels=8,side=8",
    "nasbench201": "nasbench201:channels=4,cells=1,side=8",
    "macro": TINY,
    "scarlet-s1": "scarlet-s1:width=0.1,side=16",
    "scarlet-s2": "scarlet-s2:width=0.1,side=16",
    "attentive": "attentive:resolutions=12+16,width=0.1",
    "scalenet": "scalenet:width=0.1,side=16,released=true",
    "scalenet-base": "scalenet-base:width=0.1,side=16,released=true",
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
from supernetic.pipeline.train import train

def watch(steps):
    for p in steps:
        yield p
        if p.step == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)

train({space!r}, recipe={recipe!r}, out={out!r}, limit=300, progress=watch, processes={processes})
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


def test_the_sampler_follows_from_the_sharing() -> None:
    names = {
        n: small(EVERY[n], dry_run=True).sampler["name"] for n in ("macro", "nasbench201", "attentive", "scalenet")
    }
    assert names == {
        "macro": "strict_fair", "nasbench201": "strict_fair", "attentive": "sandwich", "scalenet": "hierarchical",
    }  # fmt: skip
    assert small(sampler="uniform", dry_run=True).sampler["name"] == "uniform"
    nested = {"name": "sandwich", "n": 3}
    assert small(sampler=nested, dry_run=True).paths == 5


def test_a_recipe_brings_its_sampler_unless_one_is_given(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text('length = "7 steps"\nbatch_size = 20\n[sampler]\nname = "uniform"\n')
    own = small(recipe=file, steps=None, dry_run=True)
    assert (own.steps, own.batch_size, own.sampler["name"]) == (7, 20, "uniform")
    assert small(recipe=file, sampler="sandwich", dry_run=True).sampler["name"] == "sandwich"
    assert small(recipe=file, steps=9, dry_run=True).steps == 9


def kill_training(at: int, recipe: Path, out: Path, processes: int = 1) -> None:
    code = KILLED.format(space=TINY, recipe=str(recipe), out=str(out), processes=processes)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code, str(at)], capture_output=True, env=environment, check=False)
    assert done.returncode == -9, done.stderr.decode()


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


def test_a_failure_in_several_processes_is_the_same_error(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('length = "9 steps"\nbatch_size = 8\nlr = 1e30\n')
    with pytest.raises(SupernetError, match=r"^training diverged: the loss of step"):
        small(recipe=recipe, steps=None, processes=2, out=tmp_path / "run")
    with pytest.raises(InputError, match="a batch must divide over 3 processes, got 8 images"):
        small(recipe=recipe, processes=3, dry_run=True)


def test_snapshots_are_kept_and_can_be_loaded(tmp_path: Path) -> None:
    small(out=tmp_path / "run", steps=10, snapshots="10%,5")
    assert read_settings(tmp_path / "run")["snapshots"] == [1, 5]
    first, middle, last = (load_supernet(tmp_path / "run", step)[0].state_dict() for step in (1, 5, None))
    assert first.keys() == middle.keys() == last.keys()
    weight = next(n for n in last if n.startswith("stem") and n.endswith("weight"))
    assert not torch.equal(first[weight], middle[weight])
    assert not torch.equal(middle[weight], last[weight])
    with pytest.raises(RunError, match="no snapshot of step 2, only of 1, 5"):
        load_supernet(tmp_path / "run", 2)


@pytest.mark.parametrize("text", ["0%", "100%", "2", "-1", "0"])
def test_snapshots_lie_inside_the_training(text: str) -> None:
    with pytest.raises(InputError, match=r"before the last of 2, got '.*'"):
        small(snapshots=text, dry_run=True)


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    steps = []

    def watch(training: Iterable[Progress]) -> Iterator[Progress]:
        for p in training:
            steps.append(p.step)
            yield p

    first = small(out=tmp_path / "run", progress=watch)
    assert small(out=tmp_path / "run", progress=watch) == first
    assert steps == [1, 2]
    assert json.loads((tmp_path / "run/result.json").read_text()) == first.to_json()


def test_tensorboard_shows_the_same_losses_and_changes_nothing_else(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    seen = []

    def watch(training: Iterable[Progress]) -> Iterator[Progress]:
        for p in training:
            seen.append(p.loss)
            yield p

    small(out=tmp_path / "with", tensorboard=True, progress=watch)
    small(out=tmp_path / "without")
    scalars = events.EventAccumulator(str(tmp_path / "with/tensorboard")).Reload().Scalars("loss")
    assert [s.value for s in scalars] == pytest.approx(seen)
    for name in ("run.toml", "supernet.safetensors", "metrics.jsonl"):
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes(), name
    assert not (tmp_path / "without/tensorboard").exists()


def test_without_tensorboard_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"supernetic\[tracking\]"):
        small(out=tmp_path / "run", tensorboard=True)
    assert not (tmp_path / "run").exists()


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


def test_stabilisers_start_at_random_or_as_the_identity(tmp_path: Path) -> None:
    small(stabiliser="skip", out=tmp_path / "a", steps=1)
    supernet, _ = load_supernet(tmp_path / "a")
    assert supernet.stabilised.stabiliser == "skip"  # type: ignore[attr-defined]
    assert supernet.space.stabiliser == ""  # type: ignore[attr-defined]
    small(stabiliser="skip:identity", out=tmp_path / "b", steps=1)
    other, _ = load_supernet(tmp_path / "b")
    weight = other.units(other.blueprint((0,) * 8).layers[2])["conv"][0].get_parameter("op.weight")
    assert torch.allclose(weight[:, :, 0, 0], torch.eye(len(weight)), atol=0.1)
    with pytest.raises(InputError, match="no skips to stabilise"):
        small(EVERY["attentive"], stabiliser="skip", dry_run=True)
    with pytest.raises(UnknownNameError, match="did you mean 'identity'"):
        small(stabiliser="skip:identiy", dry_run=True)


def test_images_are_turned_into_what_the_space_wants(tmp_path: Path) -> None:
    result = small("macro:channels=4,side=12,head=16,in_channels=3", out=tmp_path / "run")
    assert result.notes == ("images are turned to 12x12, colour",)
    _, dataset = load_supernet(tmp_path / "run")
    assert (dataset.side, dataset.channels) == (12, 3)
    with pytest.raises(InputError, match="has 5 classes, embedded has 10"):
        small("macro:classes=5", dry_run=True)


def test_a_declared_space_needs_no_file_later(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = 'resolution = 8\nsharing = "elastic"\n[stem]\nwidth = 8\n[[stages]]\nwidth = [8, 12]\ndepth = [1, 2]\n'
    file.write_text(text)
    small(str(file), out=tmp_path / "run")
    file.unlink()
    supernet, _ = load_supernet(tmp_path / "run")
    assert supernet.space.name == "mine"
    assert len(supernet.space.choices) == 2


def test_a_space_in_python_is_read_again_and_compared(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    text = "from supernetic.spaces.macro import Macro\nspace = Macro(channels={}, side=8, in_channels=1, head=16)\n"
    file.write_text(text.format(4))
    small(str(file), out=tmp_path / "run")
    load_supernet(tmp_path / "run")
    small(Macro(channels=4, side=8, in_channels=1, head=16), out=tmp_path / "object")
    load_supernet(tmp_path / "object")


def test_a_run_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be read"):
        load_supernet(tmp_path)
    (tmp_path / "run.toml").write_text('job = "search"\n')
    with pytest.raises(RunError, match="holds no supernet, it is a run of 'search'"):
        load_supernet(tmp_path)


def test_damaged_weights_are_named(tmp_path: Path) -> None:
    small(out=tmp_path / "run")
    weights = tmp_path / "run/supernet.safetensors"
    data = bytearray(weights.read_bytes())
    data[-5] ^= 255
    weights.write_bytes(data)
    with pytest.raises(RunError, match="checksum does not match"):
        load_supernet(tmp_path / "run")


def test_the_record_holds_what_is_needed(tmp_path: Path) -> None:
    small(out=tmp_path / "run", stabiliser="skip")
    settings = read_settings(tmp_path / "run")
    assert settings["space"]["settings"]["stabiliser"] == "skip"
    assert settings["recipe"]["length"] == "2 steps"
    assert settings["recipe"]["sampler"]["name"] == "strict_fair"
    assert settings["data"]["images"]["train"] > 0
    splits = json.loads((tmp_path / "run/splits.json").read_text())["splits"]
    assert sorted(len(rows) for rows in splits.values()) == sorted(settings["data"]["images"].values())
    assert len({row for rows in splits.values() for row in rows}) == 300


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


def test_budgets_of_training_can_be_milliseconds(tmp_path: Path) -> None:
    space = Macro(channels=4, side=8, in_channels=1, head=16)
    table = measure_table(space, repeats=2, fitted=3, held_out=2)
    file = tmp_path / "latency.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in table.to_records()))
    costs = costs_of(space, space.sample(np.random.default_rng(0), 500), table) / table.scale
    window = f"latency in {np.quantile(costs, 0.4):.6f}ms..{np.quantile(costs, 0.6):.6f}ms"
    settings = {"name": "budgeted", "where": [window]}
    with pytest.raises(InputError, match="measured"):
        small(space, sampler=settings, out=tmp_path / "without")
    result = small(space, sampler=settings, latency=file, out=tmp_path / "run")
    assert result.paths == 1
    again = small(space, sampler=settings, latency=file, out=tmp_path / "run")
    assert again == result


def test_a_training_starts_from_the_weights_of_another(tmp_path: Path) -> None:
    """As few-shot NAS does: one supernet for all, then one for each option of a choice."""
    parent = train(TINY, limit=200, steps=2, out=tmp_path / "parent", threads=1)
    before = load_supernet(tmp_path / "parent")[0].state_dict()
    only = {"name": "fixed", "choice": Macro().choices[1].name, "option": str(Macro().choices[1].options[2])}
    for out in ("child", "again"):
        train(TINY, limit=200, steps=2, sampler=only, start=parent.run, out=tmp_path / out, threads=1)
    weights = [(tmp_path / out / "supernet.safetensors").read_bytes() for out in ("child", "again")]
    assert weights[0] == weights[1]
    after = load_supernet(tmp_path / "child")[0].state_dict()
    untouched = {n.split(".C")[0] for n, t in before.items() if n.endswith("op.weight") and torch.equal(t, after[n])}
    assert untouched == {"layer1.MB3_K3"}  # the other option of that choice; the third one is the identity


def test_a_start_must_be_finished_and_of_the_same_space(tmp_path: Path) -> None:
    train(TINY, limit=200, steps=1, out=tmp_path / "parent", threads=1)
    with pytest.raises(RunError, match="holds a supernet of"):
        train("macro:channels=8,side=8,head=16", limit=200, steps=1, start=tmp_path / "parent", out=tmp_path / "a")
    (tmp_path / "parent" / "supernet.safetensors").unlink()
    with pytest.raises(RunError, match="is not finished"):
        train(TINY, limit=200, steps=1, start=tmp_path / "parent", out=tmp_path / "b")
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
