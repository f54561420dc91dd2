"""Graph features against brute force: all paths of small networks listed one by one, live layers by another routine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import log

import numpy as np
import pytest

from supernetic import catalog
from supernetic.blueprint import Blueprint, Layer
from supernetic.costs.live_layers import live
from supernetic.costs.macs import add_up
from supernetic.predictors.graph import Networks, block_of, cut, path_layer_of
from supernetic.space import Arch
from supernetic.spaces.nasbench201 import NASBench201

SMALL = "nasbench201:cells=1,channels=4,resolution=8"
SPACES = (SMALL, "nasbench101", "macro", "attentive", "scarlet-s1", "mixed")


def paths_of(blueprint: Blueprint) -> Iterator[list[int]]:
    """Every way from the image to the logits that meets no zero."""
    wiring = blueprint.wiring()

    def back(i: int) -> Iterator[list[int]]:
        if i < 0:
            yield []
        elif blueprint.layers[i].kind != "zero":
            for source in wiring[i]:
                yield from ([*path, i] for path in back(source))

    return back(len(blueprint) - 1)


def columns_of(*blueprints: Blueprint) -> dict[str, np.ndarray]:
    return Networks(blueprints).columns()


@pytest.mark.parametrize("name", [SMALL, "nasbench101:stacks=2,cells=1", "macro", "mixed"])
def test_lengths_and_numbers_of_paths(name: str) -> None:
    space = catalog.space(name)
    blueprints = [space.blueprint(tuple(a)) for a in space.sample(np.random.default_rng(0), 15).tolist()]
    columns = columns_of(*blueprints)
    for i, blueprint in enumerate(blueprints):
        looks = [path_layer_of(layer) for layer in blueprint]
        paths = list(paths_of(blueprint))
        if not paths:
            assert not any(v[i] for n, v in columns.items() if not n.startswith("cost"))
            continue
        assert columns["paths"][i] == pytest.approx(log(len(paths)) if paths else 0)
        for what, length in {
            "convolutions": [sum(looks[p].depth for p in path) for path in paths],
            "spatial layers": [sum(looks[p].spatial for p in path) for path in paths],
            "spatial convolutions": [sum(looks[p].spatial for p in path if looks[p].depth) for path in paths],
        }.items():
            assert columns[f"longest {what}"][i] == max(length)
            assert columns[f"shortest {what}"][i] == min(length)


@pytest.mark.parametrize("name", SPACES)
def test_only_live_layers_are_counted(name: str) -> None:
    """By layer, by kind, in MACs and in parameters, for networks of different shapes together."""
    space = catalog.space(name)
    blueprints = [space.blueprint(tuple(a)) for a in space.sample(np.random.default_rng(1), 12).tolist()]
    columns = columns_of(*blueprints)
    for i, blueprint in enumerate(blueprints):
        alive = live(blueprint)
        counts = Counter("layers" + path_layer_of(x).word for x in alive if path_layer_of(x).word)
        assert counts.keys() <= columns.keys()
        for column, values in columns.items():
            if column.startswith("layers") and " in stage " not in column:
                assert values[i] == counts[column]
        named = {f"layer {x.name} is {x.label}" for x in alive if x.kind != "join"}
        assert named == {n for n, v in columns.items() if n.startswith("layer ") and " is " in n and v[i]}
        assert (columns["live macs"][i], columns["live params"][i]) == add_up(alive)
        assert (columns["cost macs"][i], columns["cost params"][i]) == add_up(blueprint)


def test_words_of_a_cell() -> None:
    """0->1 conv 3x3, 1->3 skip, 0->2 pool, 2->3 conv 1x1, 0->3 skip, 1->2 none: three paths per cell, three cells."""
    space = NASBench201(cells=1)
    edges = {"0->1": "nor_conv_3x3", "1->3": "skip_connect", "0->2": "avg_pool_3x3", "2->3": "nor_conv_1x1"}
    edges |= {"0->3": "skip_connect", "1->2": "none"}
    arch: Arch = tuple(space.operations.index(edges[c.name]) for c in space.choices)
    columns = columns_of(space.blueprint(arch))
    assert columns["path CONV_K3"] == 3 + 1  # and the stem
    assert columns["path AVGPOOL CONV_K1"] == 3
    assert columns["path in stage 2"] == 1
    assert columns["layer cell0.node3 joins"] == 3
    assert columns["layer cell0.node2 joins"] == 1
    assert "layer cell0.1to2 is ZERO" not in columns or columns["layer cell0.1to2 is ZERO"] == 0


def test_a_residual_block_is_two_spatial_convolutions_deep() -> None:
    ends = Layer("stem", "conv", 3, 4, 8, 8), Layer("gap", "gap", 4, 4, 8, 1), Layer("fc", "linear", 4, 2, 1, 1)
    block = Layer("block", "residual", 4, 4, 8, 8, 3, act="relu", shortcut="identity", stage=1)
    pool = Layer("pool", "maxpool", 4, 4, 8, 8, 3)
    columns = columns_of(Blueprint((ends[0], block, pool, *ends[1:])))
    assert columns["longest convolutions"] == 1 + 2 + 1  # stem, block, classifier
    assert columns["longest spatial layers"] == 2 + 1
    assert columns["longest spatial convolutions"] == 2
    assert columns["path CONV_K1"] == 1
    assert columns["layers RES_K3"] == 1


def test_networks_do_not_see_their_company() -> None:
    space = catalog.space("nasbench101")
    blueprints = [space.blueprint(tuple(a)) for a in space.sample(np.random.default_rng(2), 8).tolist()]
    together = columns_of(*blueprints)
    for i, blueprint in enumerate(blueprints):
        alone = columns_of(blueprint)
        assert all(v[i] == (alone[n][0] if n in alone else 0) for n, v in together.items())
        assert set(alone) <= set(together)


def test_wanted_columns_are_the_same() -> None:
    space = catalog.space(SMALL)
    networks = Networks(space.blueprint(tuple(a)) for a in space.sample(np.random.default_rng(3), 20).tolist())
    every = networks.columns()
    some = set(list(every)[::3])
    found = networks.columns(some)
    assert some <= set(found)
    assert all(np.array_equal(found[n], every[n]) for n in some)


def test_segments_end_where_all_wires_meet() -> None:
    assert list(cut([(-1,), (0,), (0, 1), (2,)])) == [(0, 1), (1, 3), (3, 4)]
    assert list(cut([(-1,), (-1,), (0, 1)])) == [(0, 3)]


@pytest.mark.parametrize(
    ("column", "block"),
    [("path CONV_K1", "graph"), ("live macs", "cost"), ("layer cell0.0to1 is SKIP", "layers"), ("paths", "graph")],
)
def test_blocks(column: str, block: str) -> None:
    assert block_of(column) == block
