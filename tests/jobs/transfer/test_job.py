"""`transfer`: a new head, trials on a held-out fifth, a training on all images; resumed to the byte."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from supernetic.commands.report import report
from supernetic.commands.resume import resume
from supernetic.datasets import load
from supernetic.errors import InputError, RunError, UnknownNameError
from supernetic.exporters.model import load_model, read_card, verify
from supernetic.jobs.transfer.job import TransferJob, transfer
from supernetic.jobs.transfer.plan import TransferPlan, divide_time, share_trials
from supernetic.jobs.transfer.recipes import ADAM_RATES, DECAYS, RATES, RECIPES, rates_of, transfer_recipe
from supernetic.jobs.transfer.request import TransferRequest
from supernetic.jobs.transfer.result import TransferResult, TransferTable, read_transfer
from supernetic.jobs.transfer.train import Trainings
from supernetic.networks.pool import training_seconds
from supernetic.nn.timm_package import have_timm
from supernetic.progress import ignore
from supernetic.runs.directory import open_run
from supernetic.training.checkpoint import read

SMALL: dict[str, Any] = {"image_size": 16, "limit": 300, "steps": 6, "trials": 2, "workers": 1, "int8": "no"}


def settings(run: Path) -> dict[str, Any]:
    return tomllib.loads((run / "run.toml").read_text())


def test_the_model_is_the_trained_one_and_says_how_to_prepare_images(transferred: Path) -> None:
    result = read_transfer(transferred)
    assert (result.kept, result.steps) in (("all", 6), ("head", 0))
    card = read_card(result.path)
    assert (card.mean, card.std, card.resolution) == ((0.4, 0.5, 0.6), (0.3, 0.3, 0.3), 16)
    assert card.metrics["test/accuracy"] == result.accuracy
    file = transferred / json.loads((transferred / "transfer.json").read_text())["weights"]
    weights = read(file)[0]
    assert all(torch.equal(t, weights[n]) for n, t in load_model(result.path).state_dict().items())
    verify(result.path)


def test_the_final_training_has_all_images_and_the_trials_a_fifth_less(transferred: Path) -> None:
    recorded = settings(transferred)
    assert recorded["data"]["images"]["valid"] == recorded["data"]["images"]["calibrate"] == 0
    held_out = load(**{**recorded["load"], "valid": 0.2})
    assert held_out.fingerprint == recorded["held_out"]
    assert len(held_out.splits["valid"]) / recorded["data"]["images"]["train"] == pytest.approx(0.2, abs=0.03)
    assert not set(held_out.splits["valid"]) & set(held_out.splits["test"])
    tried = json.loads((transferred / "rates.json").read_text())["tried"]
    keys = {t["key"] for t in tried}
    for key in (p.name for p in (transferred / "networks").iterdir()):
        of = settings(transferred / "networks" / key)["data"]
        assert of == (recorded["held_out"] if key in keys else recorded["data"]["fingerprint"])


@pytest.mark.parametrize("gone", ["networks.json", "rates.json", "head.json", "features.safetensors"])
def test_an_interrupted_run_ends_with_the_same_bytes(run: Path, gone: str) -> None:
    steps = ["features.safetensors", "head.json", "rates.json", "transfer.json", "networks.json", "exported.json"]
    before = {name: (run / name).read_bytes() for name in (*steps, "predictions.json")}
    for name in (*steps[steps.index(gone) :], "result.json"):
        (run / name).unlink()
    resume(run)
    for name, data in before.items():
        if name == "networks.json":  # it has a latency
            now, then = (json.loads(d)[0]["test"] for d in ((run / name).read_bytes(), data))
            assert now == then
        else:
            assert (run / name).read_bytes() == data, name


def test_weights_outside_of_the_run_are_refused(run: Path) -> None:
    for name in ("networks.json", "exported.json", "result.json"):
        (run / name).unlink()
    record = json.loads((run / "transfer.json").read_text())
    (run / "transfer.json").write_text(json.dumps({**record, "weights": "../other.safetensors"}))
    with pytest.raises(RunError, match="outside of the run"):
        resume(run)


def test_a_finished_run_is_read_and_its_page_written_again(run: Path) -> None:
    assert isinstance(resume(run), TransferResult)
    (run / "report.html").unlink()
    report(run)
    page = (run / "report.html").read_text()
    assert "test images right" in page
    assert "held-out images" in page


def test_only_the_head_changes_if_only_the_head_is_trained(model: Path, tmp_path: Path) -> None:
    result = transfer(model, "embedded", out=tmp_path / "run", layers="head", **{**SMALL, "steps": None})
    assert isinstance(result, TransferResult)
    before, after = load_model(model).state_dict(), result.load().state_dict()
    changed = {n for n, t in after.items() if not torch.equal(t, before.get(n, torch.zeros(0)))}
    assert changed == {"classifier.linear.op.weight", "classifier.linear.op.bias"}
    assert not (tmp_path / "run/networks").exists()


def test_layers_are_freed_from_the_end(model: Path, tmp_path: Path) -> None:
    transfer(model, "embedded", out=tmp_path / "run", layers="gradual", **{**SMALL, "trials": 0})
    keys = json.loads((tmp_path / "run/transfer.json").read_text())["keys"]
    frozen = [set(settings(tmp_path / "run/networks" / key).get("frozen", [])) for key in keys]
    assert frozen[0] > frozen[1] > frozen[2] == set()
    assert [settings(tmp_path / "run/networks" / key)["seed"] for key in keys] == [0, 1, 2]  # other batches in each
    assert "stem" in frozen[1]
    assert "classifier" not in frozen[0]
    start = read(tmp_path / "run" / "starts" / json.loads((tmp_path / "run/head.json").read_text())["starts"]["all"])[0]
    first = read(tmp_path / "run/networks" / keys[0] / "weights.safetensors")[0]
    assert all(torch.equal(first[n], start[n]) for n in first if n.startswith("stem."))
    assert not torch.equal(first["classifier.linear.op.weight"], start["classifier.linear.op.weight"])


@pytest.mark.parametrize(
    ("turned", "recipe", "mirrored", "augment"),
    [
        (False, None, True, "zoom+flip"),
        (True, None, False, "zoom"),
        (True, "short", False, "zoom"),
        (True, "attentive", True, "crop+flip"),
    ],
)
def test_images_are_mirrored_only_where_they_mean_the_same(
    model: Path, tmp_path: Path, turned: bool, recipe: str | None, mirrored: bool, augment: str
) -> None:
    """Bars on the left and on the right are two classes, or bars on top and at the bottom are."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 60, (200, 16, 16, 3), dtype=np.uint8)
    labels = np.arange(200) % 2
    images[labels == 0, :6] += 190
    images[labels == 1, -6:] += 190
    if turned:
        images = images.swapaxes(1, 2)
    result = transfer(
        model, (images, labels), out=tmp_path / "run", steps=2, trials=1, image_size=16, workers=1, int8="no",
        recipe=recipe,
    )  # fmt: skip
    head = json.loads((tmp_path / "run/head.json").read_text())
    assert head["mirrored"] == mirrored
    said = "" if recipe == "attentive" else "Images are mirrored: " if mirrored else "Images are not mirrored: "
    assert head["mirror_test"].partition(" a network")[0].strip() == said.strip()
    assert ("Images are" in result.summary()) == bool(said)
    used = {tomllib.loads(f.read_text())["recipe"]["augment"] for f in (tmp_path / "run/networks").glob("*/run.toml")}
    assert used == {augment}


def test_validation_images_of_ones_own_choose_the_head(model: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for split, number in (("train", 30), ("valid", 15), ("test", 5)):
        for label, top in (("above", 0), ("below", 10)):
            folder = tmp_path / "data" / split / label
            folder.mkdir(parents=True)
            for i in range(number):
                image = rng.integers(0, 60, (16, 16, 3), dtype=np.uint8)
                image[top : top + 6] += 190
                Image.fromarray(image).save(folder / f"{i}.png")
    result = transfer(
        model, tmp_path / "data", out=tmp_path / "run", layers="head", image_size=16, workers=1, int8="no"
    )
    assert isinstance(result, TransferResult)
    assert result.head is not None
    assert result.head > 80
    assert result.mirroring.startswith("Images are mirrored: a network trained without mirrored images gets")


def test_a_teacher_is_asked_once_and_changes_the_training(model: Path, transferred: Path, tmp_path: Path) -> None:
    teacher = read_transfer(transferred).path
    result = transfer(model, "embedded", out=tmp_path / "run", teacher=teacher, **{**SMALL, "trials": 0})
    assert isinstance(result, TransferResult)
    targets = read(tmp_path / "run/targets.safetensors")[0]["targets"]
    assert torch.allclose(targets.sum(1), torch.ones(len(targets)), atol=1e-5)
    assert (targets.max(1).values < 1).any()
    if result.kept == "all":
        key = json.loads((tmp_path / "run/transfer.json").read_text())["keys"][-1]
        assert "targets" in settings(tmp_path / "run/networks" / key)
    with pytest.raises(InputError, match="must have the classes of the data"):
        transfer(model, "embedded", teacher=model, out=tmp_path / "other", **SMALL)


def test_several_models_give_a_table(model: Path, tmp_path: Path) -> None:
    table = transfer([model, model], ["embedded"], out=tmp_path, layers="head", **{**SMALL, "steps": None})
    assert isinstance(table, TransferTable)
    heads, *rows = table.rows()
    assert heads[:1] == ["model"]
    assert len(rows) == 1  # the same run, read the second time
    assert (tmp_path / "transfer.csv").read_text().startswith("model,MACs,params,")


def test_a_wrong_name_in_a_table_is_refused_before_anything_is_done(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown data set 'embeded'"):
        transfer(model, ["embedded", "embeded"], out=tmp_path / "table", **SMALL)
    with pytest.raises(InputError, match="unknown pretrained model 'other'"):
        transfer([model, "other"], "embedded", out=tmp_path / "table", **SMALL)
    assert not (tmp_path / "table").exists()


def test_a_time_limit_is_planned(model: Path, tmp_path: Path) -> None:
    few = {k: v for k, v in SMALL.items() if k not in ("steps", "trials")}
    result = transfer(model, "embedded", minutes=1.0, out=tmp_path / "run", dry_run=True, **few)
    assert isinstance(result, TransferResult)
    assert result.planned is not None
    assert result.planned.steps > 8
    assert not (tmp_path / "run").exists()


def test_the_final_training_is_as_long_as_the_trials_were_fast(run: Path) -> None:
    plan = replace(TransferPlan.from_settings(settings(run)["plan"]), seconds=1000.0, after=10.0)
    tried = json.loads((run / "rates.json").read_text())["tried"]
    paces = [training_seconds(run / "networks" / t["key"]) for t in tried]
    job = TransferJob.prepare(TransferRequest.from_record(settings(run)["request"]), ignore)
    with open_run(run, {k: v for k, v in settings(run).items() if k != "versions"}) as opened:
        spent = sum(r["seconds"] for r in opened.read("timings.jsonl") if "task" in r and "step" not in r)
        trainings = Trainings(job.blueprint, job.held_out, job.whole, plan, None, ignore)
        length = trainings._length(opened, tried)
        assert length == int((0.97 * 1000 - spent - 10) * sum(n for _, n in paces) / sum(s for s, _ in paces))
        opened.append("timings.jsonl", [{"task": "rates", "seconds": 500.0}])
        assert trainings._length(opened, tried) == length  # it was decided, and is kept
        assert replace(trainings, plan=replace(plan, seconds=0.0))._length(opened, tried) == plan.steps


def test_bad_requests_are_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="minutes or steps"):
        transfer(model, minutes=1, steps=3)
    with pytest.raises(UnknownNameError, match="layers"):
        transfer(model, layers="some")
    with pytest.raises(UnknownNameError, match="recipe"):
        transfer(model, recipe="attentiv", limit=300)
    with pytest.raises(InputError, match="unknown pretrained model"):
        transfer("no-such-model")
    assert not list(tmp_path.iterdir())


def test_recipes_are_the_files() -> None:
    folder = Path(__file__).parents[3] / "recipes"
    files = {"attentive": "attentive-transfer", "scalenet": "scalenet-finetune", "scarlet": "scarlet-cifar10"}
    for name, file in files.items():
        theirs = tomllib.loads((folder / f"{file}.toml").read_text())
        mine = dict(RECIPES[name])
        assert {k: v for k, v in mine.items() if k != "source"} == {k: v for k, v in theirs.items() if k != "source"}
        assert transfer_recipe(name).lr == theirs["lr"]


def test_time_is_shared_out() -> None:
    assert divide_time(5, 2, None) == (0, 0, 0, 0)
    assert divide_time(40, 1, None)[:2] == (0, 0)  # too short for trials
    rates, decays, length, steps = divide_time(1000, 1, None)
    assert (rates, decays) == share_trials(rates + decays)
    assert rates >= 2
    assert (rates + decays) * length + steps == 1000
    assert divide_time(1000, 1, 0)[:2] == (0, 0)
    assert divide_time(100, 1, None)[:3] == (1, 0, 16)  # against the head alone
    assert share_trials(14) == (7, 7) == (len(RATES), len(DECAYS)) == (len(ADAM_RATES), 7)


def test_rates_suit_the_optimiser_and_begin_with_the_recipes_own() -> None:
    assert rates_of(transfer_recipe(None)) == ADAM_RATES
    assert rates_of(transfer_recipe("attentive")) == RATES
    assert transfer_recipe(None).lr == ADAM_RATES[0]


@pytest.mark.slow
def test_a_killed_transfer_goes_on_and_ends_with_the_same_bytes(model: Path, tmp_path: Path) -> None:
    """Killed by the system while layers are freed one after the other; what comes out is the same to the byte."""
    options = ["--image-size", "16", "--limit", "300", "--steps", "60", "--trials", "0", "--workers", "1"]
    command = [sys.executable, "-m", "supernetic.cli", "transfer", str(model), "embedded", *options, "--int8", "no"]
    command += ["--layers", "gradual", "--quiet", "--out"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, stdout=subprocess.DEVNULL)
    killed = tmp_path / "killed"
    with subprocess.Popen([*command, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for _ in range(2400):
            if list(killed.glob("networks/*/checkpoints/*")) and (killed / "rates.json").exists():
                break
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    assert not (killed / "transfer.json").exists()
    subprocess.run([*command, str(killed)], check=True, stdout=subprocess.DEVNULL)
    names = ["features.safetensors", "head.json", "rates.json", "transfer.json", "predictions.json", "exported.json"]
    weights = [p.relative_to(tmp_path / "whole") for p in (tmp_path / "whole").glob("**/*.safetensors")]
    kept = [str(w) for w in weights if "checkpoints" not in w.parts]
    assert len(kept) == 7  # features, two starts, three parts, the model
    for name in (*names, *kept):
        assert (killed / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


@pytest.mark.skipif(not have_timm(), reason="timm is not installed")
def test_a_network_of_timm_is_transferred(tmp_path: Path) -> None:
    name = "timm:mobilenetv2_035@fresh"
    result = transfer(name, "embedded", out=tmp_path / "run", **{**SMALL, "image_size": 32, "limit": 200, "steps": 2})
    assert isinstance(result, TransferResult)
    assert result.network is not None
    assert result.network.name == "timm-mobilenetv2_035"
    assert result.network.label == name
    card = read_card(result.path)
    assert card.mean == (0.485, 0.456, 0.406)
    assert result.load()(torch.zeros(1, 3, 32, 32)).shape == (1, 10)
    (tmp_path / "run/result.json").unlink()
    assert resume(tmp_path / "run") == result
