"""Model directories as models of timm, without the network."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

import supernetic
from supernetic.costs.macs import cost
from supernetic.errors import InputError, RunError
from supernetic.exporters import timm_registry
from supernetic.exporters.card import Card
from supernetic.exporters.model import save_model
from supernetic.families.efficientnet_lite import EfficientNetLite
from supernetic.nn.network import Network, build

needs_timm = pytest.mark.skipif(find_spec("timm") is None, reason="timm is not installed")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    network = build(EfficientNetLite(width=0.25, depth=0.5).network(3, 3, 32), seed=0)
    costs = cost(network.blueprint)
    card = Card("m", "", ("a", "b", "c"), 32, 3, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), "", "", costs.macs, costs.params)
    save_model(tmp_path / "m", network, card, onnx=False)
    return tmp_path / "m"


def created(model: Path, **options: Any) -> Any:
    supernetic.register_timm()
    import timm

    return timm.create_model(f"local-dir:{model}", **options)


@needs_timm
def test_the_weights_of_a_directory(model: Path) -> None:
    made = created(model, pretrained=True).eval()
    assert isinstance(made, Network)
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(made(x), supernetic.load(model)(x))
        assert made.forward_features(x).shape[1] == made.num_features
    from timm.data import resolve_model_data_config

    config = resolve_model_data_config(made)
    assert (config["input_size"], config["mean"], config["std"]) == ((3, 32, 32), (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))


@needs_timm
def test_other_classes_and_random_weights(model: Path) -> None:
    made = created(model, pretrained=True, num_classes=7, drop_rate=0.0)
    assert made.num_classes == made.get_classifier().out_features == 7
    stem = {n: t for n, t in made.state_dict().items() if n.startswith("stem")}
    stored = supernetic.load(model).state_dict()
    assert all(torch.equal(t, stored[n]) for n, t in stem.items())
    fresh = created(model).state_dict()
    assert not torch.equal(fresh["stem.conv.op.weight"], stored["stem.conv.op.weight"])


@needs_timm
def test_what_cannot_be_is_refused(model: Path) -> None:
    with pytest.raises(InputError, match="in_chans must be 3, got 1"):
        created(model, in_chans=1)
    with pytest.raises(InputError, match="timm's option drop_rate is not one"):
        created(model, drop_rate=0.2)
    with pytest.raises(InputError, match="is made from a model directory"):
        timm_registry.supernetic_network()
    file = model / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(RunError, match="was changed after it was written"):
        created(model, pretrained=True)


def test_without_timm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    timm_registry.register_timm.cache_clear()
    monkeypatch.setattr(timm_registry, "have_timm", lambda: False)
    with pytest.raises(InputError, match=r"supernetic\[timm\]"):
        supernetic.register_timm()
