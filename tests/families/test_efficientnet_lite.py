"""EfficientNet-Lite: published sizes, and padding as TensorFlow has it."""

import pytest
import torch
import torch.nn.functional as F

from supernetic.blueprint import TENSORFLOW_PADDING, Blueprint, Layer, at_resolution, pads_of
from supernetic.costs.macs import cost
from supernetic.errors import InputError
from supernetic.families.efficientnet_lite import RESOLUTIONS, SCALES, EfficientNetLite
from supernetic.model_names import parse_model
from supernetic.nn.counting import counted
from supernetic.nn.network import build
from supernetic.timing.graph import graph

# parameters and MACs as published (M); Lite3 and Lite4 as torch counts them
PUBLISHED = [(4.65, 385), (5.42, 600), (6.09, 860), (8.20, 1383), (13.01, 2553)]


@pytest.mark.parametrize("version", range(5))
def test_costs_are_the_published_ones(version: int) -> None:
    network = EfficientNetLite(*SCALES[version]).network(1000, 3, RESOLUTIONS[version])
    found = cost(network)
    params, macs = PUBLISHED[version]
    assert round(found.params / 1e6, 2) == params
    assert round(found.macs / 1e6) == macs


def test_costs_are_those_that_torch_counts() -> None:
    network = EfficientNetLite().network(28, 3, 64)
    found = cost(network)
    assert counted(build(network, seed=0), 3, 64) == (found.macs, found.params)


def test_the_names_stand_for_the_networks_in_the_datas_resolution() -> None:
    model = parse_model("efficientnet-lite0", 28, 3, 160)
    assert (model.resolution, model.network.classes) == (160, 28)  # type: ignore[union-attr]
    assert (
        parse_model("efficientnet-lite2", 28, 3, 160).costs()
        == parse_model("efficientnet-lite0:width=1.1,depth=1.2", 28, 3, 160).costs()
    )


@pytest.mark.parametrize("size", [7, 8, 15, 16])
@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_padding_is_tensorflows(size: int, kernel: int, stride: int) -> None:
    first, last = pads_of(TENSORFLOW_PADDING, size, kernel, stride)
    out = -(-size // stride)
    assert (size + first + last - kernel) // stride + 1 == out  # the rounded-up shape,
    assert last - first in (0, 1)  # the odd pixel behind,
    assert first + last == 0 or (out - 1) * stride + kernel == size + first + last  # and nothing that is not read


def test_a_padded_layer_computes_what_its_padding_says_in_torch_and_in_onnx() -> None:
    layers = (
        Layer("a", "conv", 3, 4, 8, 4, 3, 2, norm=False, padding=TENSORFLOW_PADDING),
        Layer("b", "mbconv", 4, 4, 4, 2, 5, 2, 2, 8, act="relu6", padding=TENSORFLOW_PADDING, eps=1e-3),
        Layer("pool", "gap", 4, 4, 2, 1),
        Layer("fc", "linear", 4, 2, 1, 1),
    )
    network = build(Blueprint(layers), seed=0).eval()
    x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        found = next(y for layer, y in network.trace(x) if layer.name == "a")
        expected = F.conv2d(F.pad(x, (0, 1, 0, 1)), network.state_dict()["a.conv.op.weight"], stride=2)
        assert torch.equal(found, expected)
        logits = network(x)
    assert network.units(layers[1])["project"].norm.eps == 1e-3  # type: ignore[union-attr]
    onnxruntime = pytest.importorskip("onnxruntime")
    data = graph(network.blueprint, {n: t.numpy() for n, t in network.state_dict().items()})
    (theirs,) = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"images": x.numpy()})
    assert torch.allclose(torch.from_numpy(theirs), logits, atol=1e-5)


def test_a_network_at_another_resolution() -> None:
    family = EfficientNetLite()
    assert at_resolution(family.network(10, 3, 224), 65) == family.network(10, 3, 65)
    with pytest.raises(InputError, match="flattens a map of 8 pixels"):
        at_resolution(Blueprint((Layer("f", "flatten", 3, 192, 8, 1), Layer("c", "linear", 192, 2, 1, 1))), 16)
