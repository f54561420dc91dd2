"""An ONNX file runs in onnxruntime, at any batch size, as the network does."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from supernetic.blueprint import Blueprint
from supernetic.errors import InputError, RunError, SupernetError
from supernetic.exporters import onnx as exporter
from supernetic.exporters.onnx import have_onnx, run, session, write_onnx
from supernetic.nn.network import Network, build
from supernetic.nn.norm import recalibrate
from supernetic.space import Space

needs_onnx = pytest.mark.skipif(not have_onnx(), reason="the packages of the extra `export` are not installed")


def lively(blueprint: Blueprint) -> Network:
    """A network whose BNs and biases all matter."""
    network = build(blueprint, seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for tensor in network.parameters():
            if tensor.ndim == 1:
                tensor.uniform_(0.5, 1.5, generator=generator)
    shape = (8, blueprint.in_channels, blueprint.resolution, blueprint.resolution)
    recalibrate(network, [torch.randn(shape, generator=generator)])
    return network.eval()


def first(space: Space, seed: int = 0) -> Blueprint:
    return space.blueprint(tuple(space.sample(np.random.default_rng(seed), 1)[0].tolist()))


@pytest.fixture(scope="module")
def network(small: Callable[[str], Space]) -> Network:
    return lively(first(small("nasbench201"), 3))


@pytest.fixture(scope="module")
def file(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not have_onnx():
        pytest.skip("the packages of the extra `export` are not installed")
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    network.train()
    assert write_onnx(network, path, channels=3, resolution=9) < 1e-5
    assert network.training, "the network itself is left alone"
    network.eval()
    return path


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_onnxruntime_computes_what_torch_does(network: Network, file: Path, batch: int) -> None:
    images = torch.randn(batch, 3, 9, 9, generator=torch.Generator().manual_seed(batch))
    with torch.no_grad():
        ours = network(images).numpy()
    theirs = run(session(file), images.numpy())
    assert np.abs(ours - theirs).max() <= 1e-4 * np.abs(ours).max()
    assert np.ptp(ours, axis=1).max() > 1e-2, "logits that differ, or nothing was compared"


def test_the_graph_is_named_after_the_layers_and_says_nothing_of_this_machine(network: Network, file: Path) -> None:
    import onnx

    model = onnx.load(str(file))
    onnx.checker.check_model(model)
    names = [node.name for node in model.graph.node]
    assert len(set(names)) == len(names)
    layers = {layer.name for layer in network.blueprint}
    convolutions = [n.name for n in model.graph.node if n.op_type == "Conv"]
    assert convolutions
    assert all(any(name.startswith(f"{layer}.") for layer in layers) for name in convolutions)
    assert [d.dim_param or d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim] == ["batch", 3, 9, 9]
    assert (model.graph.input[0].name, model.graph.output[0].name) == ("images", "logits")
    for word in (b"site-packages", str(Path.cwd()).encode(), b".py"):
        assert word not in file.read_bytes()
    assert [p.name for p in file.parent.iterdir()] == [file.name], "nothing is left beside it"


@needs_onnx
def test_a_file_that_computes_something_else_is_not_kept(
    network: Network, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = build(network.blueprint, seed=5)
    monkeypatch.setattr(exporter, "_exported", lambda *_: file.read_bytes())
    with pytest.raises(SupernetError, match="differ"):
        write_onnx(other, tmp_path / "model.onnx", channels=3, resolution=9)
    assert not list(tmp_path.iterdir())


@needs_onnx
def test_a_directory_that_is_not_there_is_named(
    network: Network, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "_exported", lambda *_: file.read_bytes())
    with pytest.raises(RunError, match="missing"):
        write_onnx(network, tmp_path / "missing" / "model.onnx", channels=3, resolution=9)


@needs_onnx
def test_damaged_and_missing_files_are_named(file: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"absent\.onnx does not exist"):
        session(tmp_path / "absent.onnx")
    torn = tmp_path / "torn.onnx"
    torn.write_bytes(file.read_bytes()[: os.path.getsize(file) // 2])
    with pytest.raises(RunError, match=r"torn\.onnx is not an ONNX file"):
        session(torn)


def test_without_the_extra_it_says_what_to_install(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "find_spec", lambda name: None if name == "onnxscript" else object())
    assert not have_onnx()
    with pytest.raises(InputError, match=r"onnxscript.*supernetic\[export\]"):
        write_onnx(network, tmp_path / "model.onnx", channels=3, resolution=9)
