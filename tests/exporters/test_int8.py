"""A quantised file runs in onnxruntime, computes nearly what the network does, and means the same everywhere."""

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from supernetic.blueprint import Blueprint
from supernetic.errors import SupernetError
from supernetic.exporters.int8 import OnnxNetwork, quantise
from supernetic.exporters.onnx import have_onnx
from supernetic.nn.network import Network, build
from supernetic.nn.norm import recalibrate
from supernetic.space import Space
from supernetic.timing.graph import graph

pytestmark = pytest.mark.skipif(not have_onnx(), reason="the packages of the extra `export` are not installed")


def lively(space: Space, seed: int = 0) -> tuple[Network, torch.Tensor]:
    """A network whose BNs matter, and images for it."""
    blueprint = space.blueprint(tuple(space.sample(np.random.default_rng(seed), 1)[0].tolist()))
    network, generator = build(blueprint, seed=0), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for tensor in network.parameters():
            if tensor.ndim == 1:
                tensor.uniform_(0.5, 1.5, generator=generator)
    images = torch.randn(64, blueprint.in_channels, blueprint.resolution, blueprint.resolution, generator=generator)
    recalibrate(network, [images])
    return network.eval(), images


def floats(network: Network, blueprint: Blueprint) -> bytes:
    return graph(blueprint, {n: t.detach().numpy() for n, t in network.state_dict().items()})


def opened(data: bytes, folder: Path) -> OnnxNetwork:
    (folder / "m.onnx").write_bytes(data)
    return OnnxNetwork(folder / "m.onnx")


@pytest.mark.parametrize("name", ["macro", "nasbench201", "attentive", "mixed", "scarlet-s1"])
def test_it_computes_nearly_the_same(small: Callable[[str], Space], name: str, tmp_path: Path) -> None:
    network, images = lively(small(name), 3)
    data = quantise(floats(network, network.blueprint), images.numpy())
    ours = opened(data, tmp_path)
    assert ours.resolution == network.blueprint.resolution
    with torch.no_grad():
        expected = network(images)
        for batch in (1, 5, 64):
            got = ours(images[:batch])
            assert got.shape == (batch, network.blueprint.classes)
            error = (got - expected[:batch]).pow(2).mean().sqrt() / expected.std()
            assert error < 0.25, "random networks are noisier than trained ones"
    assert len(data) < len(floats(network, network.blueprint))


@pytest.fixture(scope="module")
def made(small: Callable[[str], Space]) -> tuple[bytes, bytes, np.ndarray]:
    network, images = lively(small("macro"), 3)
    model = floats(network, network.blueprint)
    return quantise(model, images.numpy()), model, images.numpy()


def test_weights_have_seven_bits_and_a_scale_per_channel(made: tuple[bytes, bytes, np.ndarray]) -> None:
    """Two products of an unsigned 8-bit and a signed 7-bit number fit into 16 bits; with 8 bits they need not."""
    model = onnx.load_model_from_string(made[0])
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    makers = {n.output[0]: n for n in model.graph.node if n.op_type == "DequantizeLinear"}
    convolutions = [n for n in model.graph.node if n.op_type == "Conv"]
    assert len(convolutions) > 5
    for node in convolutions:
        maker = makers[node.input[1]]
        weights, scales, zeros = (constants[name] for name in maker.input)
        assert weights.dtype == np.int8
        assert 60 < np.abs(weights.astype(int)).max() <= 64
        assert scales.shape == (len(weights),)
        assert not zeros.any()
        assert 2 * 255 * int(np.abs(weights.astype(int)).max()) < 2**15
    assert not any(n.op_type == "BatchNormalization" for n in model.graph.node)


def test_equal_networks_give_equal_bytes(made: tuple[bytes, bytes, np.ndarray]) -> None:
    data, model, images = made
    assert quantise(model, images) == data
    assert quantise(model, images[:8]) != data, "the ranges come from the images"
    for word in (b"/tmp", b"site-packages", str(Path.cwd()).encode()):
        assert word not in data


def test_loggers_are_left_as_they_were(made: tuple[bytes, bytes, np.ndarray]) -> None:
    root = logging.getLogger()
    before = list(root.handlers), root.level
    quantise(made[1], made[2][:8])
    assert (list(root.handlers), root.level) == before


def test_what_cannot_be_quantised_is_said_in_one_line(made: tuple[bytes, bytes, np.ndarray]) -> None:
    with pytest.raises(SupernetError, match="onnxruntime cannot quantise the network") as caught:
        quantise(made[1][: len(made[1]) // 2], made[2])
    assert "\n" not in str(caught.value)
