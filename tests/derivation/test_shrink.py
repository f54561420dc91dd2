"""A network is cut to a limit of MACs where its maps change least."""

import pytest
import torch
from torch import Tensor

from supernetic.costs.macs import add_up
from supernetic.derivation.shrink import Cut, _choose, shrink
from supernetic.errors import InputError
from supernetic.networks.controls import mobilenet_v2
from supernetic.nn.network import Network, build

MAPS = ["stage3.2", "stage5.2", "stage7.0"]


@pytest.fixture(scope="module")
def network() -> Network:
    return build(mobilenet_v2(0.25, 32, 10), seed=0).eval()


@pytest.fixture(scope="module")
def images() -> Tensor:
    return torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("share", [0.8, 0.6])
def test_the_limit_is_kept_and_used(network: Network, images: Tensor, share: float) -> None:
    macs, _ = add_up(network.blueprint)
    taps = [layer.name for layer in network.blueprint if layer.stage][-1:]
    smaller, cuts = shrink(network, images, share * macs, taps)
    assert 0.9 * share * macs < add_up(smaller.blueprint)[0] <= share * macs
    assert cuts
    assert smaller(images).shape == (4, 10)


def test_nothing_is_cut_that_fits(network: Network, images: Tensor) -> None:
    same, cuts = shrink(network, images, 1e12, ["stem"])
    assert same is network
    assert not cuts


def test_channels_that_add_nothing_go_first(images: Tensor) -> None:
    """Half of a block's hidden channels are dead: cutting them changes nothing."""
    network = build(mobilenet_v2(0.25, 32, 10), seed=0).eval()
    block = next(x for x in network.blueprint if x.kind == "mbconv" and x.hidden >= 48 and x.stage)
    with torch.no_grad():
        project = network.units(block)["project"].op
        assert project is not None
        project.weight[:, ::2] = 0
    last = [layer.name for layer in network.blueprint if layer.stage][-1]
    whole, _ = add_up(network.blueprint)
    _, cuts = shrink(network, images, whole - 1000, [last])
    assert [c.layer for c in cuts] == [block.name]
    assert cuts[0].change == pytest.approx(0, abs=1e-9)
    assert all(i % 2 for i in cuts[0].hidden[: block.hidden // 2])


def test_the_least_change_is_chosen() -> None:
    options = {
        "a": [Cut("a", (1,), 60, 5.0), Cut("a", (), 100, 9.0)],
        "b": [Cut("b", (1,), 40, 1.0)],
        "c": [Cut("c", (1,), 90, 7.0)],
    }
    chosen = _choose(options, 100)
    assert chosen is not None
    assert [(c.layer, c.macs) for c in chosen] == [("a", 60), ("b", 40)]
    assert _choose({"b": options["b"]}, 100) is None


def test_a_limit_that_cannot_be_reached(network: Network, images: Tensor) -> None:
    with pytest.raises(InputError, match="cannot be shrunk to 10 MACs: at least"):
        shrink(network, images, 10, ["stem"])
