from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest

from supernetic import catalog
from supernetic.blueprint import Blueprint, Layer
from supernetic.costs import cost
from supernetic.objective import parse_quantity
from supernetic.reports.drawing import Atlas, draw, is_chain, layer_rows
from supernetic.space import Space


def sampled(space: Space, n: int = 3) -> list[Blueprint]:
    archs = space.sample(np.random.default_rng(1), n).tolist()
    return [space.blueprint(tuple(a)) for a in archs]


@pytest.mark.parametrize("name", list(catalog.SPACES))
def test_every_space_can_be_drawn(name: str, small: Callable[[str], Space]) -> None:
    for blueprint in sampled(small(name)):
        html = draw(blueprint)
        ElementTree.fromstring(f"<div>{html}</div>")
        if is_chain(blueprint):
            labels = re.findall(r"<b>([^<]+)</b>", html)
            assert labels == [x.label for x in blueprint if x.kind != "gap"]


def test_hidden_layers_are_drawn_with_their_units() -> None:
    layers = (
        Layer("flatten", "flatten", 1, 64, 8, 1),
        Layer("hidden0", "linear", 64, 20, 1, 1, act="relu", stage=1),
        Layer("classifier", "linear", 20, 10, 1, 1),
    )
    html = draw(Blueprint(layers))
    assert re.findall(r"<b>([^<]+)</b>", html) == ["LINEAR", "LINEAR"]
    assert re.findall(r'class="size">([^<]+)<', html) == ["20 units", "10 classes"]


def test_larger_kernels_are_taller_and_larger_expansions_wider(space: Space) -> None:
    html = draw(space.blueprint((1, 2, 1, 2, 1, 2, 1, 2)))
    sizes = dict(re.findall(r'style="height:(\d+px;width:\d+px)"[^>]*><b>(MB\w+)<', html))
    found = {label: [int(v) for v in re.findall(r"\d+", size)] for size, label in sizes.items()}
    assert found["MB6_K5"][0] > found["MB3_K3"][0]
    assert found["MB6_K5"][1] > found["MB3_K3"][1]


def test_a_residual_block_is_drawn_as_convolutions_and_wider_than_one() -> None:
    space = catalog.space("mixed")
    html = draw(space.blueprint(space.parse("s2-p1.0x1-r1.0x1-m1.0x1")))
    drawn = re.findall(r'class="block (\w+)[^"]*" style="height:(\d+)px;width:(\d+)px"[^>]*><b>(\w+)<', html)
    styles = {label: (style, int(height), int(width)) for style, height, width, label in drawn}
    assert styles["RES_K3"][:2] == styles["CONV_K3"][:2] == ("conv", 84)
    assert styles["RES_K3"][2] > styles["CONV_K3"][2]


def test_stages_say_the_map_behind_them(space: Space) -> None:
    html = draw(space.blueprint((2, 2, 2, 2, 2, 2, 2, 2)))
    assert re.findall(r'class="size">([^<]+)<', html) == ["16² × 8", "8² × 16", "4² × 32", "2² × 64", "10 classes"]


def test_many_drawings_share_their_pieces(space: Space) -> None:
    atlas = Atlas()
    blueprints = sampled(space, 200)
    codes = [atlas.draw(b) for b in blueprints]
    assert len(atlas.pieces) < 60
    assert [atlas.html(c) for c in codes[:20]] == [draw(b) for b in blueprints[:20]]
    assert atlas.size == sum(map(len, atlas.pieces))


def test_a_cell_is_drawn_once_without_what_carries_nothing() -> None:
    space = catalog.space("nasbench201")
    arch = space.parse("|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|avg_pool_3x3~2|")
    html = draw(space.blueprint(arch))
    assert html.count('<svg class="graph"') == 1
    nodes = re.findall(r'<text x="[^"]+" y="[^"]+">([^<]+)<', html)
    assert nodes == ["input", "CONV_K3", "SKIP", "AVGPOOL", "+"]
    assert html.count("5 ×") == 3


def test_an_edge_that_passes_a_column_has_a_row_of_its_own() -> None:
    space = catalog.space("nasbench201")
    arch = space.parse("|nor_conv_3x3~0|+|none~0|nor_conv_1x1~1|+|skip_connect~0|none~1|nor_conv_3x3~2|")
    html = draw(space.blueprint(arch))
    boxes = {(float(x), float(y) + 12) for x, y in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"', html)}
    assert len(boxes) == 6
    passing = [(float(x), float(y)) for y, x in re.findall(r"([\d.]+)H([\d.]+)", html)]
    assert passing
    assert not {(x - 74, y) for x, y in passing} & boxes


def test_a_cell_without_any_path_is_still_drawn() -> None:
    space = catalog.space("nasbench201")
    html = draw(space.blueprint(space.named["all-none"]))
    ElementTree.fromstring(f"<div>{html}</div>")
    assert re.findall(r'<text x="[^"]+" y="[^"]+">([^<]+)<', html) == ["input"]
    assert html.count("cell A") == 3 + 1


def test_texts_of_layers_are_escaped() -> None:
    layers = (Layer("a", "<i>", 3, 8, 8, 8), Layer("b", "linear", 8, 2, 1, 1))
    assert "<I>" not in draw(Blueprint(layers))


def test_the_layer_table_adds_up(space: Space) -> None:
    blueprint = space.blueprint((2, 1, 0, 2, 0, 1, 2, 0))
    rows = layer_rows(blueprint)
    assert [r[0] for r in rows] == [x.name for x in blueprint]
    assert rows[-1][2:4] == ("160 × 1²", "10 × 1²")
    assert sum(parse_quantity(r[4]) for r in rows) == pytest.approx(cost(blueprint).macs, rel=1e-3)
    assert sum(parse_quantity(r[5]) for r in rows) == pytest.approx(cost(blueprint).params, rel=1e-3)
