from pathlib import Path

import pytest
import torch

from supernetic.costs.macs import add_up
from supernetic.exporters.onnx import have_onnx, write_onnx
from supernetic.families.dense import MLP, Logistic
from supernetic.nn.network import Network, build
from supernetic.testing import check_blueprint


def test_logistic_regression_is_one_linear_map() -> None:
    blueprint = Logistic().network(10, 1, 28)
    check_blueprint(blueprint)
    assert add_up(blueprint) == (7840, 7850)
    network = build(blueprint, seed=0)
    x = torch.randn(3, 1, 28, 28)
    weight, bias = network.parameters()
    torch.testing.assert_close(network(x), x.reshape(3, -1) @ weight.T + bias)


def test_a_perceptron_is_torchs_own() -> None:
    blueprint = MLP(width=12, depth=3).network(5, 2, 6)
    check_blueprint(blueprint)
    network = build(blueprint, seed=0)
    modules: list[torch.nn.Module] = [torch.nn.Flatten()]
    for a, b in ((72, 12), (12, 12), (12, 12)):
        modules += [torch.nn.Linear(a, b), torch.nn.ReLU()]
    theirs = torch.nn.Sequential(*modules, torch.nn.Linear(12, 5))
    theirs.load_state_dict(dict(zip(theirs.state_dict(), network.state_dict().values(), strict=True)))
    x = torch.randn(4, 2, 6, 6)
    torch.testing.assert_close(network(x), theirs(x))
    torch.testing.assert_close(network(x.contiguous(memory_format=torch.channels_last)), theirs(x))


def test_the_full_size_is_the_papers() -> None:
    full = add_up(MLP().network(10, 1, 28))
    assert full[0] == 784 * 2048 + 2 * 2048**2 + 2048 * 10
    assert full[1] == full[0] + 3 * 2048 + 10


def test_signals_keep_their_size_through_hidden_layers() -> None:
    network = build(MLP(width=512, depth=6).network(10, 1, 16), seed=0)
    sizes = [t.square().mean().item() for layer, t in network.trace(torch.randn(64, 1, 16, 16)) if layer.act]
    assert all(0.5 < s < 2 for s in sizes)


@pytest.mark.skipif(not have_onnx(), reason="needs the extra export")
def test_it_can_be_exported(tmp_path: Path) -> None:
    network = build(MLP(width=8, depth=2).network(3, 2, 5), seed=0)
    assert isinstance(network, Network)
    assert write_onnx(network, tmp_path / "model.onnx", channels=2, resolution=5) < 1e-5
