from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w
import torch

from supernetic.commands.derive import derive
from supernetic.datasets.batches import Batches
from supernetic.errors import ArchError, InputError, RunError, SupernetError, UnknownNameError
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.exporters.model import load_model, read_card
from supernetic.jobs.train.job import train
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.progress import Event
from supernetic.runs.directory import open_run, read_settings
from supernetic.training.checkpoint import read
from supernetic.training.recipe import Recipe

ARCH = "10210012"
SHORT = Recipe(title="short", length="3 steps", batch_size=16, lr=0.05)


def test_a_network_with_the_supernets_weights(run: Path) -> None:
    result = derive(run, ARCH, retrain="none")
    supernet, data = load_supernet(run)
    genes = supernet.space.parse(ARCH)
    said = SupernetEvaluator(supernet, data)([genes])[0]
    assert result.score["valid/cross_entropy"] == pytest.approx(said["valid/cross_entropy"], rel=1e-4)
    assert (result.trained, result.fold, result.retrain) == (None, None, "none")
    assert result.model == str(run / "models" / f"macro-{ARCH}")
    network, card = load_model(result.model), read_card(result.model)
    assert network.blueprint == supernet.space.blueprint(genes)
    assert (card.macs, card.params) == (result.macs, result.params)
    assert card.metrics == result.score
    x = Batches(data, "valid", 50).batch(0)[0]
    extracted = supernet.extract(genes).eval()
    weights = dict(extracted.named_parameters())
    assert all(torch.equal(p, weights[n]) for n, p in network.named_parameters())
    assert network(x).shape == (min(50, len(data.splits["valid"])), 10)
    assert ARCH in str(result)
    assert "trained from" not in str(result)
    assert json.loads(json.dumps(result.to_json()))["trained"] is None


def test_trained_from_scratch_once(run: Path) -> None:
    seen: list[Event] = []
    first = derive(run, ARCH, recipe=SHORT, name="mine", on_event=seen.append)
    assert first.retrain == "scratch"  # a space of blocks
    assert seen[-1] == Event("train", item="mine", done=3, total=3)
    assert first.trained is not None
    assert read_card(run / "models/mine").metrics == first.trained
    assert "short, 3 steps" in read_card(run / "models/mine").recipe
    assert "trained from scratch: " in str(first)
    seen.clear()
    again = derive(run, ARCH, recipe=SHORT, name="mine", on_event=seen.append)
    assert replace(again, notes=first.notes) == first  # notes tell latencies, which are measured again
    assert not seen
    (key,) = [p.name for p in (run / "networks").iterdir()]
    weights = read(run / "networks" / key / "weights.safetensors")[0]
    mine = load_model(first.model).state_dict()
    assert all(torch.equal(t, weights[n]) for n, t in mine.items())


def test_trained_from_the_supernets_weights(run: Path, tmp_path: Path) -> None:
    still = Recipe(length="1 step", batch_size=16, lr=1e-9)
    result = derive(run, ARCH, retrain="inherit", recipe=still, out=tmp_path / "out")
    network = load_model(tmp_path / "out" / f"macro-{ARCH}")
    supernet, _ = load_supernet(run)
    weights = dict(supernet.extract(supernet.space.parse(ARCH)).named_parameters())
    for name, p in network.named_parameters():
        torch.testing.assert_close(p, weights[name], atol=1e-6, rtol=0)
    assert result.trained is not None
    assert result.trained != result.score  # BN's running statistics moved
    assert any("weights of the supernet" in note for note in read_card(result.model).notes)
    assert not (run / "models").exists()


def test_the_runs_own_recipe_is_followed(run: Path) -> None:
    settings = {**read_settings(run), "retrain_recipe": SHORT.settings()}
    (run / "run.toml").write_text(tomli_w.dumps(settings))
    derive(run, ARCH)
    (network,) = (run / "networks").iterdir()
    assert read_settings(network)["recipe"]["length"] == "3 steps"


def test_stabilisers_are_folded(tmp_path: Path) -> None:
    train("macro:channels=4,resolution=8,head=16", steps=2, limit=300, stabiliser="skip", out=tmp_path / "run")
    result = derive(tmp_path / "run", (1, 0, 1, 0, 0, 1, 0, 0), retrain="none", name="folded")
    assert result.fold is not None
    assert {r["layer"] for r in result.fold["removals"]} == {"layer1", "layer3", "layer4", "layer6", "layer7"}
    assert any("same network" in note for note in result.notes)


def test_elastic_networks_are_handed_over_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'resolution = [8, 12]\nsharing = "elastic"\n[stem]\nwidth = 8\n[[stages]]\nwidth = [8, 12]\ndepth = [1, 2]\n'
    )
    train(str(file), steps=1, limit=150, out=tmp_path / "run")
    result = derive(tmp_path / "run", (1, 0, 1))
    assert result.retrain == "none"
    assert read_card(result.model).resolution == 12
    assert Path(result.model).name.startswith("mine-")


def test_bad_input_is_named_and_nothing_is_written(run: Path, tmp_path: Path) -> None:
    before = sorted(p.name for p in run.iterdir())
    with pytest.raises(UnknownNameError, match="did you mean 'scratch'"):
        derive(run, ARCH, retrain="scrach")
    with pytest.raises(ArchError, match="macro"):
        derive(run, "123")
    with pytest.raises(ArchError, match="layer0"):
        derive(run, (5,) * 8)
    with pytest.raises(InputError, match="name must be one for a directory"):
        derive(run, ARCH, name="../x")
    with pytest.raises(RunError, match=r"run.toml cannot be read"):
        derive(tmp_path / "none", ARCH)
    settings = {k: v for k, v in read_settings(run).items() if k != "versions"}
    with open_run(run, settings), pytest.raises(RunError, match="in use"):
        derive(run, ARCH)
    with pytest.raises(SupernetError, match="training diverged"):
        derive(run, ARCH, recipe=Recipe(length="12 steps", batch_size=16, lr=1e30))
    assert {p.name for p in run.iterdir()} - set(before) <= {"networks", ".lock"}
