from __future__ import annotations

from collections.abc import Callable
from math import isfinite, log

import pytest

from supernetic.blueprint import Layer
from supernetic.proxies.probe import Probe
from supernetic.proxies.zen import PERTURBATION_SCALE, zen

Look = Callable[..., Probe]
CHAIN = (
    Layer("stem", "conv", 3, 8, 8, 8, 3, act="relu"),
    Layer("block", "mbconv", 8, 8, 8, 8, 3, 1, 3, 24, act="relu", shortcut="identity"),
    Layer("pool", "gap", 8, 8, 8, 1),
    Layer("logits", "linear", 8, 5, 1, 1),
)


@pytest.mark.parametrize("depth", [1, 3])
def test_of_linear_maps_it_is_known(look: Look, depth: int) -> None:
    """BN divides by sqrt(fan-in); what is left of a change of size alpha is alpha, at each of the features."""
    width, resolution = 64, 8
    maps = [Layer(f"map{i}", "conv", width, width, resolution, resolution) for i in range(depth)]
    probe = look(
        (*maps, Layer("pool", "gap", width, width, resolution, 1), Layer("logits", "linear", width, 5, 1, 1)), n=16
    )
    expected = log(PERTURBATION_SCALE) + log(width * resolution**2) / 2 + depth * log(width) / 2
    assert zen(probe) == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("kind", ["mbconv", "residual"])
def test_shortcuts_are_taken_away(look: Look, kind: str) -> None:
    layers = tuple(layer._replace(kind=kind) if layer.shortcut else layer for layer in CHAIN)
    bare = tuple(layer._replace(shortcut="") for layer in layers)
    assert zen(look(layers)) == zen(look(bare))


def test_dead_layers_have_no_say(look: Look) -> None:
    assert isfinite(zen(look((3, 3, 0, 0, 0, 3))))
    assert not isfinite(zen(look((0,) * 6)))
    # node 1 is fed by zeros: BN behind its convolution would have a scale of zero
    assert isfinite(zen(look((0, 3, 3, 3, 3, 3))))


def test_seeds_draw_weights_and_images(look: Look) -> None:
    assert zen(look(CHAIN)) == zen(look(CHAIN)) != zen(look(CHAIN, seed=1))
