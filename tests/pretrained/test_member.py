"""Pretrained networks among models that are compared."""

import pickle
from pathlib import Path

import pytest
import torch

from supernetic.costs.macs import cost
from supernetic.errors import InputError, RunError
from supernetic.exporters.card import Card
from supernetic.exporters.model import save_model
from supernetic.families.efficientnet_lite import EfficientNetLite
from supernetic.model_names import parse_model
from supernetic.nn.network import Network, build
from supernetic.pretrained.member import OfGrayImages, PretrainedMember, pretrained_member


def saved(place: Path, channels: int = 3, seed: int = 0) -> Path:
    network = build(EfficientNetLite(width=0.25, depth=0.5).network(3, channels, 96), seed=seed)
    costs = cost(network.blueprint)
    mean, std = (0.1, 0.2, 0.3)[:channels], (0.4, 0.5, 0.6)[:channels]
    card = Card("m", "", ("a", "b", "c"), 96, channels, mean, std, "", "", costs.macs, costs.params)
    save_model(place, network, card, onnx=False)
    return place


def test_weights_stay_and_the_classifier_is_new(tmp_path: Path) -> None:
    model = saved(tmp_path / "m")
    found = parse_model(f"pretrained:{model}", 5, 3, 64)
    assert isinstance(found.network, PretrainedMember)
    assert found.network.normalisation == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert (found.resolution, found.blueprint) == (96, None)  # small images are enlarged
    one, two = found.build(0), pickle.loads(pickle.dumps(found)).build(1)
    assert isinstance(one, Network)
    assert one.training
    assert sum(p.numel() for p in one.parameters()) == found.costs()[1]
    start = build(EfficientNetLite(width=0.25, depth=0.5).network(3, 3, 96), seed=0).state_dict()
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, two.state_dict()[name]) == (name != "classifier.linear.op.weight"), name
        assert name.startswith("classifier") or torch.equal(tensor, start[name])


def test_gray_images(tmp_path: Path) -> None:
    found = pretrained_member(str(saved(tmp_path / "m")), 4, 1, 96)
    (mean,), (std,) = found.normalisation
    assert (mean, std) == pytest.approx((0.2, 0.5))
    network = found.build().eval()
    assert isinstance(network, OfGrayImages)
    x = torch.randn(2, 1, 96, 96)
    with torch.no_grad():
        assert torch.equal(network(x), network.network(x.repeat(1, 3, 1, 1)))


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    gray = saved(tmp_path / "gray", channels=1)
    with pytest.raises(InputError, match="reads gray images, but the data have 3 channels"):
        pretrained_member(str(gray), 4, 3, 96)
    found = pretrained_member(str(gray), 4, 1, 96)
    saved(gray, channels=1, seed=1)
    with pytest.raises(RunError, match="are others than when the comparison began"):
        found.build()
