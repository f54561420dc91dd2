from math import sqrt

import pytest
import torch
from torch import nn

from supernetic import catalog
from supernetic.blueprint import Blueprint, Layer
from supernetic.errors import UnknownNameError
from supernetic.nn.initialise import initialise
from supernetic.nn.network import Network, build
from supernetic.nn.unit import Unit
from supernetic.stabiliser import is_stabiliser


def units(network: Network) -> dict[str, Unit]:
    return {n: m for n, m in network.named_modules() if isinstance(m, Unit)}


def test_spreads() -> None:
    space = catalog.space("macro:stabiliser=skip")
    found = units(build(space.blueprint((2, 1, 0, 1, 0, 1, 2, 0)), seed=0))
    large = 0
    for name, unit in found.items():
        op = unit.op
        assert op is not None
        if isinstance(op, nn.Linear):
            assert op.weight.std().item() == pytest.approx(0.01, rel=0.05)
            assert op.bias.abs().max() == 0
        elif op.weight.numel() > 5000:
            large += 1
            fan_out = op.kernel_size[0] ** 2 * op.out_channels / op.groups
            assert op.weight.std().item() == pytest.approx(sqrt(2 / fan_out), rel=0.05), name
        if unit.norm is not None:
            assert (unit.norm.weight == 1).all()
            assert (unit.norm.bias == 0).all()
    assert large > 5


def test_hidden_linear_maps_keep_the_size_of_signals() -> None:
    hidden = Layer("hidden", "linear", 400, 300, 1, 1, act="relu")
    layers = Layer("flatten", "flatten", 1, 400, 20, 1), hidden, Layer("classifier", "linear", 300, 50, 1, 1)
    found = units(build(Blueprint(layers), seed=0))
    spreads = [u.op.weight.std().item() for u in found.values() if u.op is not None]
    assert spreads == pytest.approx([sqrt(2 / 400), 0.01], rel=0.05)


def test_squeeze_and_excite_start_without_bias() -> None:
    space = catalog.space("scarlet-s2:resolution=32,width=0.25,classes=10")
    found = units(build(space.blueprint(space.named["all-e6k7-se"]), seed=0))
    biases = [u.op.bias for n, u in found.items() if n.endswith(("squeeze", "excite")) and u.op is not None]
    assert len(biases) == 38
    assert all(b is not None and (b == 0).all() for b in biases)


def test_blocks_may_start_as_their_shortcuts() -> None:
    space = catalog.space("macro:channels=8,resolution=16,head=32")
    network = build(space.blueprint((2, 1, 1, 2, 0, 1, 2, 0)), seed=0, zero_residual=True)
    zero = {n for n, u in units(network).items() if u.norm is not None and not u.norm.weight.any()}
    assert zero == {"layer1.project", "layer3.project", "layer6.project"}


def test_stabilisers_may_start_as_skips() -> None:
    space = catalog.space("scarlet-s1:resolution=32,width=0.25,classes=10,stabiliser=skip")
    network = Network(space.blueprint(space.named["all-skip"]))
    for start in ("random", "identity"):
        initialise(network, seed=0, stabiliser=start)
        kept = 0
        for layer in filter(is_stabiliser, network.blueprint):
            op = network.units(layer)["conv"].op
            assert op is not None
            kept += torch.equal(op.weight[:, :, 0, 0], torch.eye(layer.c_out, layer.c_in))
        assert kept == (19 if start == "identity" else 0)


def test_unknown_start() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'identity'"):
        initialise(nn.Module(), stabiliser="identy")


def test_weights_as_torch_draws_them() -> None:
    blueprint = catalog.space("nasbench201:cells=1,channels=32").blueprint((3, 3, 3, 3, 3, 3))
    network = Network(blueprint)
    initialise(network, seed=0, weights="torch")
    for unit in units(network).values():
        op = unit.op
        if op is None or op.weight.numel() < 500:
            continue
        plain: nn.Module = (
            nn.Linear(op.in_features, op.out_features)
            if isinstance(op, nn.Linear)
            else nn.Conv2d(op.in_channels, op.out_channels, op.kernel_size[0], groups=op.groups)
        )
        theirs = plain.weight
        assert isinstance(theirs, torch.Tensor)
        assert op.weight.std().item() == pytest.approx(theirs.std().item(), rel=0.1)
        assert op.weight.abs().max().item() == pytest.approx(theirs.abs().max().item(), rel=0.05)
        if op.bias is not None:
            assert op.bias.abs().max() > 0
    with pytest.raises(UnknownNameError, match="initial weights"):
        initialise(network, weights="xavier")
