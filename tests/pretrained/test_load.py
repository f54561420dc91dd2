"""Pretrained networks by name: model directories of ours."""

from pathlib import Path

import pytest
import torch

from supernetic.costs.macs import cost
from supernetic.errors import InputError, RunError
from supernetic.exporters.card import Card
from supernetic.exporters.model import save_model
from supernetic.families.efficientnet_lite import EfficientNetLite
from supernetic.nn.network import build
from supernetic.pretrained import load_pretrained
from supernetic.pretrained.load import is_pretrained


def test_a_model_directory_at_its_own_and_at_another_resolution(tmp_path: Path) -> None:
    network = build(EfficientNetLite(width=0.25).network(3, 3, 32), seed=0).eval()
    costs = cost(network.blueprint)
    card = Card("m", "", ("a", "b", "c"), 32, 3, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), "", "", costs.macs, costs.params)
    save_model(tmp_path / "m", network, card, onnx=False)
    assert is_pretrained(tmp_path / "m")
    assert not is_pretrained(tmp_path)
    found, small = load_pretrained(tmp_path / "m"), load_pretrained(tmp_path / "m", 24)
    assert (found.mean, found.std, found.classes) == (card.mean, card.std, card.classes)
    assert small.network.blueprint.resolution == 24
    x = torch.randn(2, 3, 24, 24, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(small.network(x), network(x))  # convolutions take images of any size


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"is not a model: it has no model\.json"):
        load_pretrained(tmp_path)
    with pytest.raises(InputError, match="unknown pretrained model"):
        load_pretrained("no-such-model")
