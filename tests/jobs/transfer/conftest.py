"""A small pretrained model and a transfer of it, made once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from supernetic.costs.macs import cost
from supernetic.exporters.card import Card
from supernetic.exporters.model import save_model
from supernetic.families.efficientnet_lite import EfficientNetLite
from supernetic.jobs.transfer.job import transfer
from supernetic.nn.network import build

SMALL: dict[str, Any] = {"image_size": 16, "limit": 300, "steps": 6, "trials": 2, "workers": 1, "int8": "no"}


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory; its network was never trained, which is enough to see what happens to its weights."""
    folder = tmp_path_factory.mktemp("pretrained") / "small"
    network = build(EfficientNetLite(width=0.25, depth=0.5).network(4, 3, 32), seed=0).eval()
    costs = cost(network.blueprint)
    card = Card("small", "", tuple("abcd"), 32, 3, (0.4, 0.5, 0.6), (0.3, 0.3, 0.3), "", "", costs.macs, costs.params)
    save_model(folder, network, card, onnx=False)
    return folder


@pytest.fixture(scope="session")
def transferred(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished transfer to the embedded images."""
    out = tmp_path_factory.mktemp("transfer") / "run"
    transfer(model, "embedded", out=out, **SMALL)
    return out


@pytest.fixture
def run(transferred: Path, tmp_path: Path) -> Path:
    """A copy."""
    shutil.copytree(transferred, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture(autouse=True)
def no_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ONNX file takes seconds; other tests are about exports."""
    monkeypatch.setattr("supernetic.exporters.onnx.have_onnx", lambda: False)
