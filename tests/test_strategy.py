from __future__ import annotations

from collections import Counter
from math import ceil

import numpy as np
import pytest

from supernetic.blueprint import Blueprint, Layer, make_divisible
from supernetic.costs.macs import cost
from supernetic.errors import InputError, UnknownNameError
from supernetic.space import Space
from supernetic.spaces.attentive import Attentive
from supernetic.spaces.efficientnet import EfficientNet
from supernetic.spaces.macro import Macro
from supernetic.spaces.mixed import Mixed
from supernetic.spaces.nasbench201 import NASBench201
from supernetic.spaces.scalenet import ScaleNetBase
from supernetic.spaces.scarlet import ScarletS2
from supernetic.strategy import (
    RULES,
    Scaling,
    by_hidden,
    by_hidden_8,
    by_input,
    ceil_of,
    in_proportion,
    parse_scaling,
    scale,
    squeeze_of,
)

CHAINS = [Macro(), ScarletS2(), Attentive(), ScaleNetBase(), EfficientNet(), Mixed()]


def some(space: Space, n: int, seed: int = 0) -> list[Blueprint]:
    return [space.blueprint(space.check(a)) for a in space.sample(np.random.default_rng(seed), n)]


def toy(se: int = 0, expansion: float = 3) -> Blueprint:
    """Stem 10, stage 1: 10 -> 14 strided, 14 -> 14; head 50."""

    def block(i: int, c_in: int, resolution: int, stride: int) -> Layer:
        return Layer(
            f"b{i}", "mbconv", c_in, 14, resolution, resolution // stride, 3, stride, expansion,
            round(c_in * expansion), se=se, shortcut="identity" if i else "", stage=1,
        )  # fmt: skip

    return Blueprint(
        (
            Layer("stem", "conv", 3, 10, 32, 16, 3, 2),
            block(0, 10, 16, 2),
            block(1, 14, 8, 1),
            Layer("head.conv", "conv", 14, 50, 8, 8),
            Layer("head.pool", "gap", 50, 50, 8, 1),
            Layer("classifier", "linear", 50, 7, 1, 1),
        )
    )


def assert_chain(blueprint: Blueprint) -> None:
    """Each layer takes what the one before gives, shortcuts fit, and names are unique."""
    for before, layer in zip(blueprint.layers, blueprint.layers[1:], strict=False):
        assert (layer.c_in, layer.resolution) == (before.c_out, before.resolution_out)
    for layer in blueprint:
        if layer.kind in ("mbconv", "residual"):
            assert (layer.shortcut == "identity") == (layer.stride == 1 and layer.c_in == layer.c_out)
        if layer.kind == "mbconv":
            assert layer.hidden == layer.c_in or layer.expansion != 1
    assert max(Counter(layer.name for layer in blueprint).values()) == 1


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("space", CHAINS, ids=lambda s: s.name)
def test_scaling_by_one_changes_nothing(space: Space, rule: str) -> None:
    for blueprint in some(space, 20):
        assert scale(blueprint, Scaling(rule=rule)) == blueprint


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("space", CHAINS, ids=lambda s: s.name)
def test_scaled_networks_hold_together(space: Space, rule: str) -> None:
    for blueprint in some(space, 20):
        scaled = scale(blueprint, Scaling(1.7, 1.33, 1.5, rule, "floor"))
        assert_chain(scaled)
        assert scaled.resolution == ceil_of(blueprint.resolution * 1.5)
        assert (scaled.classes, scaled.in_channels) == (blueprint.classes, blueprint.in_channels)
        assert cost(scaled).macs > cost(blueprint).macs


def test_scalenet_rule_by_hand() -> None:
    scaled = scale(toy(), Scaling(1.3, 1.25, 40))
    assert [x.name for x in scaled] == ["stem", "b0", "b1", "b1.1", "head.conv", "head.pool", "classifier"]
    assert [x.c_out for x in scaled] == [13, 18, 18, 18, 50, 50, 7]  # ceil(12.5), ceil(17.5); the head stays
    assert [x.hidden for x in scaled] == [0, 39, 54, 54, 0, 0, 0]
    assert [x.resolution_out for x in scaled] == [20, 10, 10, 10, 10, 1, 1]
    assert [x.shortcut for x in scaled.layers[1:4]] == ["", "identity", "identity"]


def test_efficientnet_rule_by_hand() -> None:
    scaled = scale(toy(), Scaling(1.3, 1.5, None, "efficientnet"))
    assert [x.name for x in scaled][1:4] == ["b0", "b1", "b1.1"]
    assert [x.c_out for x in scaled] == [16, 24, 24, 24, 72, 72, 7]  # 15 -> 16; 21 -> 24; 75 -> 72, above 90 % of 75
    assert scaled.resolution == 32


def test_repeat_rule_by_hand() -> None:
    scaled = scale(toy(), Scaling(2.0, 1.0, None, "repeat"))
    assert [x.name for x in scaled][1:5] == ["b0", "b0.1", "b1", "b1.1"]
    assert [x.stride for x in scaled][1:5] == [2, 1, 1, 1]
    assert [x.hidden for x in scaled][1:5] == [30, 42, 42, 42]  # the copy of b0 starts from 14 channels


def test_a_lone_strided_block_is_copied_without_its_stride() -> None:
    lone = Blueprint(tuple(x for x in toy() if x.name != "b1"))
    scaled = scale(lone, Scaling(1.04))
    assert [(x.name, x.stride, x.c_in, x.hidden, x.shortcut) for x in scaled][1:3] == [
        ("b0", 2, 10, 30, ""),
        ("b0.1", 1, 14, 42, "identity"),
    ]


def test_a_residual_block_is_copied_with_a_plain_shortcut() -> None:
    block = Layer("b0", "residual", 10, 14, 16, 8, 3, 2, act="relu", shortcut="project", stage=1)
    base = Blueprint(tuple(block if x.name == "b0" else x for x in toy() if x.name != "b1"))
    scaled = scale(base, Scaling(2.0, 2.0, rule="repeat"))
    assert [(x.name, x.c_in, x.c_out, x.stride, x.hidden, x.shortcut) for x in scaled][1:3] == [
        ("b0", 24, 32, 2, 0, "project"),
        ("b0.1", 32, 32, 1, 0, "identity"),
    ]


def test_skipped_layers_are_not_copied_and_hidden_widths_stay_nominal() -> None:
    space = ScarletS2()
    arch = (12,) * 3 + (3,) + (12,) * 15  # only layer 3: e6 k3, nominal input 40, real input 16
    base, scaled = (b.layers for b in (space.blueprint(arch), scale(space.blueprint(arch), Scaling(1.0, 1.5))))
    block, wide = (next(x for x in layers if x.kind == "mbconv" and x.stage) for layers in (base, scaled))
    assert (block.c_in, block.hidden) == (16, 240)
    assert (wide.c_in, wide.hidden) == (24, 360)
    twice = scale(space.blueprint(arch), Scaling(2.0, rule="repeat"))
    assert len(twice) == len(base) + 1


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("depth", [1.0, 1.04, 1.25, 1.36, 1.5, 2.0, 2.2])
def test_repeats_add_up(n: int, depth: float) -> None:
    exact = -(-n * round(depth * 100) // 100)  # in integers
    for rule in ("scalenet", "efficientnet"):
        repeats = Scaling(depth, rule=rule).repeats(n)
        assert len(repeats) == n
        assert sum(repeats) == exact
        assert set(repeats[:-1]) <= {1}
    assert Scaling(depth, rule="repeat").repeats(n) == (ceil(depth),) * n


def test_ceilings_are_safe_against_float_noise() -> None:
    assert 25 * 1.12 > 28
    assert Scaling(width=1.12).channels(25) == 28
    assert [Scaling(resolution=r).pixels(224) for r in (1.0, 1.14, 1.355, 1.58, 2.042, 2.378)] == [
        224, 256, 304, 354, 458, 533,
    ]  # fmt: skip
    assert Scaling(resolution=300).pixels(224) == 300


def test_widths() -> None:
    assert Scaling(width=1.5).channels(13) == 20
    assert Scaling(width=1.5, rule="repeat").channels(13) == make_divisible(19.5) == 24
    assert Scaling(width=1.0, rule="repeat").channels(13) == 13


def test_squeeze_excite_follows_the_base() -> None:
    assert {squeeze_of(b) for b in some(EfficientNet(), 11)} == {by_input}
    assert {squeeze_of(b) for b in some(ScaleNetBase(released=True), 20)} == {by_hidden}
    assert by_hidden_8 in {squeeze_of(b) for b in some(Attentive(), 20)}
    odd = toy(se=5)
    assert squeeze_of(odd) is in_proportion
    # hidden 30 and 42 become 60 and 84; the copy keeps the share of the block that it copies
    assert [x.se for x in scale(odd, Scaling(1.3, 2.0)) if x.kind == "mbconv"] == [10, 10, 10]


def test_depthwise_convolutions_stay_depthwise() -> None:
    layers = list(toy().layers)
    layers.insert(1, Layer("stem.dw", "conv", 10, 10, 16, 16, 3, groups=10))
    wide = scale(Blueprint(tuple(layers)), Scaling(width=1.3)).layers[1]
    assert (wide.c_in, wide.c_out, wide.groups) == (13, 13, 13)


def test_parse() -> None:
    assert parse_scaling("depth=2.0, width=1.4,resolution=380px,rule=repeat") == Scaling(2.0, 1.4, 380, "repeat")
    assert parse_scaling("resolution=1.355,spatial=floor") == Scaling(resolution=1.355, spatial="floor")
    assert parse_scaling("") == Scaling()
    assert parse_scaling("resolution=2").pixels(100) == 200


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dept=2", "did you mean 'depth'?"),
        ("rule=repaet", "did you mean 'repeat'?"),
        ("spatial=up", "spatial convention 'up'"),
        ("depth", "key=value,..., got 'depth'"),
        ("depth=.5", "depth must lie in 1..16, got 0.5"),
        ("width=0", "width must be positive"),
        ("width=nan", "width must be a number, got 'nan'"),
        ("width=1.4px", "width must be a number"),
        ("resolution=0px", "pixels must lie in 1..10000, got 0"),
        ("resolution=380", "(pixels are written 380px), got 380"),
        ("resolution=3.5px", "such as 380px, got '3.5px'"),
        ("resolution=inf", "resolution must be a number"),
    ],
)
def test_bad_scalings_are_named(text: str, words: str) -> None:
    with pytest.raises(InputError, match=r"scaling|spatial") as error:
        parse_scaling(text)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_rule() -> None:
    with pytest.raises(UnknownNameError):
        Scaling(rule="fix")


def test_cells_cannot_be_scaled() -> None:
    with pytest.raises(InputError, match="only chains of blocks can be scaled"):
        scale(some(NASBench201(), 1)[0], Scaling(2.0))
