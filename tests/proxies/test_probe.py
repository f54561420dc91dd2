from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from supernetic.blueprint import Layer
from supernetic.nn.norm import batch_statistics
from supernetic.proxies.probe import Probe

Look = Callable[..., Probe]
POOL = Layer("pool", "gap", 4, 4, 8, 1)
LOGITS = Layer("logits", "linear", 4, 5, 1, 1)
STEM = Layer("stem", "conv", 2, 4, 8, 8, 3)


def test_nothing_of_the_network_changes(look: Look) -> None:
    probe = look((3,) * 6)
    before = {k: v.clone() for k, v in probe.network.state_dict().items()}
    assert len(probe.gradients) == len(probe.weights)
    assert probe.jacobian.shape == (6, 3 * 8 * 8)
    after = probe.network.state_dict()
    assert all(torch.equal(before[k], after[k]) for k in before)
    assert not probe.images.requires_grad


def test_gradients_are_those_of_a_first_step(look: Look) -> None:
    probe = look((3, 1, 2, 0, 4, 3))
    with batch_statistics(probe.network):
        F.cross_entropy(probe.network(probe.images), probe.labels).backward()  # type: ignore[no-untyped-call]
    for weight, gradient in zip(probe.weights, probe.gradients, strict=True):
        expected = torch.zeros_like(weight) if weight.grad is None else weight.grad
        assert torch.allclose(gradient, expected, atol=1e-7)


@pytest.mark.parametrize("act", ["relu", "relu6", "hswish", "swish"])
def test_every_activation_is_seen_before_it_acts(look: Look, act: str) -> None:
    probe = look((STEM._replace(act=act), POOL, LOGITS))
    with batch_statistics(probe.network), torch.no_grad():
        stem = probe.network.units(probe.blueprint.layers[0])["conv"](probe.images)
    assert len(probe.signs) == 1
    assert torch.equal(probe.signs[0], (stem > 0).flatten(1))
    assert 0.3 < probe.signs[0].float().mean() < 0.7


def test_every_kind_of_layer_with_a_rectifier_is_seen(look: Look) -> None:
    wide = STEM._replace(act="relu")
    block = Layer("block", "mbconv", 4, 4, 8, 8, 3, 1, 2, 8, 2, act="relu", shortcut="identity")
    before = Layer("before", "preconv", 4, 4, 8, 8, 3)
    norm = Layer("norm", "norm", 4, 4, 8, 8, act="relu")
    join = Layer("join", "join", 4, 4, 8, 8, act="relu", inputs=("norm", "block"))
    reduce = Layer("reduce", "reduce", 4, 4, 8, 4, 3, 2)
    residual = Layer("residual", "residual", 4, 4, 4, 4, 3, act="relu", shortcut="identity")
    probe = look((wide, block, before, norm, join, reduce, residual, POOL._replace(resolution=4), LOGITS))
    # stem; expand, depthwise, squeeze; input of the convolution; norm; join; two in the reduction, two in the block
    assert [s.shape[1] for s in probe.signs] == [256, 512, 512, 2, 256, 256, 256, 256, 64, 64, 64]


def test_dead_layers_are_not_seen(look: Look) -> None:
    alive = look((0, 0, 0, 3, 0, 0))
    more = look((3, 0, 0, 3, 0, 0))  # a convolution that nobody reads
    assert len(alive.signs) == len(more.signs)
    assert look((0,) * 6).signs == []
