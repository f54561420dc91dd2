from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from supernetic.costs import costs_of
from supernetic.errors import InputError, RunError, UnknownNameError
from supernetic.jobs.train.job import TrainResult, train
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.runs.directory import read_settings
from supernetic.space import Space
from supernetic.spaces.macro import Macro
from supernetic.timing.lookup import measure_table

TINY = "macro:channels=4,resolution=8,head=16"
ATTENTIVE = "attentive:resolutions=12+16,width=0.1"


def small(space: str | Space = TINY, **settings: Any) -> TrainResult:
    return train(space, **{"steps": 2, "limit": 300, **settings})


def test_the_sampler_follows_from_the_sharing() -> None:
    spaces = (
        TINY,
        "nasbench201:channels=4,cells=1,resolution=8",
        ATTENTIVE,
        "scalenet:width=0.1,resolution=16,released=true",
    )
    names = {s.partition(":")[0]: small(s, dry_run=True).sampler["name"] for s in spaces}
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


def test_images_are_turned_into_what_the_space_wants(tmp_path: Path) -> None:
    result = small("macro:channels=4,resolution=12,head=16,in_channels=3", out=tmp_path / "run")
    assert result.notes == ("images are converted to 12x12, colour",)
    _, dataset = load_supernet(tmp_path / "run")
    assert (dataset.resolution, dataset.channels) == (12, 3)
    with pytest.raises(InputError, match="has 5 classes, embedded has 10"):
        small("macro:classes=5", dry_run=True)


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
        small(ATTENTIVE, stabiliser="skip", dry_run=True)
    with pytest.raises(UnknownNameError, match="did you mean 'identity'"):
        small(stabiliser="skip:identiy", dry_run=True)


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


def test_budgets_of_training_can_be_milliseconds(tmp_path: Path) -> None:
    space = Macro(channels=4, resolution=8, in_channels=1, head=16)
    table = measure_table(space, repeats=2, fitted=3, held_out=2)
    file = tmp_path / "latency.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in table.to_records()))
    costs = costs_of(space, space.sample(np.random.default_rng(0), 500), table) / table.scale
    window = f"latency in {np.quantile(costs, 0.4):.6f}ms..{np.quantile(costs, 0.6):.6f}ms"
    settings = {"name": "budgeted", "where": [window]}
    with pytest.raises(InputError, match="needs measurements"):
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
        train(
            "macro:channels=8,resolution=8,head=16", limit=200, steps=1, start=tmp_path / "parent", out=tmp_path / "a"
        )
    (tmp_path / "parent" / "supernet.safetensors").unlink()
    with pytest.raises(RunError, match="is not finished"):
        train(TINY, limit=200, steps=1, start=tmp_path / "parent", out=tmp_path / "b")
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
