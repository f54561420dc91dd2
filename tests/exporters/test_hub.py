"""Models in the form of Hugging Face's hub, without the network."""

import json
from pathlib import Path

import pytest
import torch

pytest.importorskip("huggingface_hub")

from supernetic.costs.macs import cost
from supernetic.errors import InputError
from supernetic.exporters.card import Card
from supernetic.exporters.hub import HubModel
from supernetic.exporters.model import save_model
from supernetic.families.efficientnet_lite import EfficientNetLite
from supernetic.nn.network import build


@pytest.fixture
def model(tmp_path: Path) -> Path:
    network = build(EfficientNetLite(width=0.25, depth=0.5).network(3, 3, 32), seed=0)
    costs = cost(network.blueprint)
    card = Card("m", "", ("a", "b", "c"), 32, 3, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), "", "", costs.macs, costs.params)
    save_model(tmp_path / "m", network, card, onnx=False)
    return tmp_path / "m"


def test_there_and_back_without_a_network(model: Path, tmp_path: Path) -> None:
    ours = HubModel.of(model)
    ours.save_pretrained(tmp_path / "hub")
    assert {"config.json", "model.safetensors"} <= {p.name for p in (tmp_path / "hub").iterdir()}
    again = HubModel.from_pretrained(tmp_path / "hub", local_files_only=True).eval()
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(again(x), ours(x))
        assert again.forward_features(x).shape[1] == again.num_features
    assert (again.classes, again.mean, again.std) == (("a", "b", "c"), (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert again.network.blueprint == ours.network.blueprint


def test_timms_interface(model: Path) -> None:
    ours = HubModel.of(model)
    assert isinstance(ours.get_classifier(), torch.nn.Linear)
    ours.reset_classifier(5)
    assert ours(torch.zeros(1, 3, 32, 32)).shape == (1, 5)


def test_a_damaged_configuration_is_refused(model: Path, tmp_path: Path) -> None:
    HubModel.of(model).save_pretrained(tmp_path / "hub")
    config = json.loads((tmp_path / "hub/config.json").read_text())
    (tmp_path / "hub/config.json").write_text(json.dumps({**config, "blueprint": [{"kind": "conv"}]}))
    with pytest.raises(InputError, match="holds no blueprint"):
        HubModel.from_pretrained(tmp_path / "hub", local_files_only=True)
