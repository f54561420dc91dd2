"""Graphs against torch's own execution and torch's own exporter."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from supernetic.blueprint import Blueprint, Layer
from supernetic.catalog import space
from supernetic.exporters.onnx import have_onnx, write_onnx
from supernetic.nn.network import Network, build
from supernetic.timing.graph import graph

pytestmark = pytest.mark.skipif(not have_onnx(), reason="needs the extra export")

SPACES = [
    "macro:channels=8,resolution=15",
    "attentive:resolutions=40+56,width=0.25",
    "nasbench201:channels=4,cells=1,resolution=15",
    "nasbench101:channels=8,resolution=9",
    "nasbench101-chain:channels=8,resolution=9",
    "scarlet-s1:resolution=33",
    "scalenet-base:resolution=33",
    "mixed:channels=4,resolution=15",
]


def weights(network: Network) -> dict[str, Any]:
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}


def run(data: bytes, images: torch.Tensor) -> Any:
    import onnxruntime  # type: ignore[import-untyped]

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(None, {"images": images.numpy()})[0]


def trained(blueprint: Blueprint) -> Network:
    """A network whose BN has statistics of its own."""
    network = build(blueprint, seed=0)
    network.train()
    network(torch.randn(4, blueprint.in_channels, blueprint.resolution, blueprint.resolution))
    return network.eval()


@pytest.mark.parametrize("name", SPACES)
def test_a_graph_computes_what_its_network_does(name: str) -> None:
    made = space(name)
    for arch in made.sample(np.random.default_rng(1), 2).tolist():
        blueprint = made.blueprint(tuple(arch))
        network = trained(blueprint)
        images = torch.randn(3, blueprint.in_channels, blueprint.resolution, blueprint.resolution)
        with torch.inference_mode():
            expected = network(images).numpy()
        assert run(graph(blueprint, weights(network)), images) == pytest.approx(
            expected, abs=1e-4 * float(np.abs(expected).max())
        )


@pytest.mark.parametrize("act", ["", "relu", "relu6", "hswish", "swish"])
@pytest.mark.parametrize("kind", ["conv", "residual", "norm", "maxpool", "avgpool", "skip", "zero"])
def test_every_kind_and_activation(kind: str, act: str) -> None:
    c = 5 if kind in ("conv", "residual") else 4
    shortcut = "project" if kind == "residual" else ""
    stride, resolution = (1, 9) if kind == "norm" else (2, 5)
    layer = Layer("x", kind, 4, c, 9, resolution, 3, stride, act=act, shortcut=shortcut)
    ends = (Layer("gap", "gap", c, c, resolution, 1), Layer("classifier", "linear", c, 3, 1, 1))
    blueprint = Blueprint((Layer("stem", "conv", 3, 4, 9, 9, 3), layer, *ends))
    network = trained(blueprint)
    images = torch.randn(2, 3, 9, 9)
    with torch.inference_mode():
        expected = network(images).numpy()
    assert run(graph(blueprint, weights(network)), images) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("act", ["", "relu", "swish"])
def test_flattened_maps_and_hidden_layers(act: str) -> None:
    layers = (
        Layer("stem", "conv", 3, 4, 5, 5, 3),
        Layer("flatten", "flatten", 4, 100, 5, 1),
        Layer("mix", "conv", 100, 6, 1, 1, act=act),
        Layer("hidden", "linear", 6, 7, 1, 1, act=act),
        Layer("classifier", "linear", 7, 3, 1, 1),
    )
    network = trained(Blueprint(layers))
    images = torch.randn(2, 3, 5, 5)
    with torch.inference_mode():
        expected = network(images).numpy()
    assert run(graph(Blueprint(layers), weights(network)), images) == pytest.approx(expected, abs=1e-5)


def operations(path: Path) -> Counter[str]:
    """What onnxruntime makes of a file."""
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(path.with_suffix(".optimised"))
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    nodes = onnx.load(options.optimized_model_filepath).graph.node
    return Counter("Reshape" if n.op_type == "Flatten" else n.op_type for n in nodes)


def test_onnxruntime_runs_the_same_operations_as_for_the_exported_file(tmp_path: Path) -> None:
    block = Layer("a", "mbconv", 16, 16, 16, 16, 3, 1, 4, 64, 16, act="swish", shortcut="identity")
    blueprint = Blueprint(
        (
            Layer("stem", "conv", 3, 16, 32, 16, 3, 2, act="swish"),
            block,
            block._replace(name="b", c_out=32, resolution_out=8, stride=2, shortcut="project", act="relu"),
            Layer("c", "residual", 32, 32, 8, 8, 3, act="relu", shortcut="identity"),
            Layer("d", "residual", 32, 32, 8, 4, 3, 2, act="relu", shortcut="project"),
            Layer("gap", "gap", 32, 32, 4, 1),
            Layer("classifier", "linear", 32, 10, 1, 1),
        )
    )
    same_operations(blueprint, tmp_path)


def test_so_it_does_for_cells(tmp_path: Path) -> None:
    """Several inputs, sums and concatenations; `zero` layers are the known exception and not among them."""
    made = space("nasbench101:channels=8,resolution=9,cells=1")
    same_operations(made.blueprint(made.named["inception"]), tmp_path)


def same_operations(blueprint: Blueprint, tmp_path: Path) -> None:
    network = build(blueprint, seed=0).eval()
    write_onnx(network, tmp_path / "exported.onnx", channels=3, resolution=blueprint.resolution)
    (tmp_path / "written.onnx").write_bytes(graph(blueprint, weights(network)))
    assert operations(tmp_path / "written.onnx") == operations(tmp_path / "exported.onnx")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown activation 'gelu'"):
        graph(Blueprint((Layer("x", "conv", 3, 4, 9, 9, 3, act="gelu"),)))
