from __future__ import annotations

from itertools import product

import numpy as np
import torch

from supernetic.blueprint import Blueprint, Layer
from supernetic.costs.live_layers import live, without_dead
from supernetic.nn.network import build
from supernetic.nn.norm import batch_statistics
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201

NONE, SKIP, CONV = 0, 1, 3
CELLS = NASBench201(cells=1, channels=8, resolution=8)


def names(blueprint: Blueprint) -> set[str]:
    return {layer.name for layer in live(blueprint)}


def test_a_layer_with_weights_is_live_if_the_logits_have_a_gradient_there() -> None:
    rng = np.random.default_rng(0)
    x = torch.randn(16, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    dead = 0
    for row in rng.choice([NONE, NONE, SKIP, CONV], size=(12, 6)).tolist():
        network = build(CELLS.blueprint(tuple(row)), seed=0)
        with batch_statistics(network):
            network(x).square().sum().backward()
        found = names(network.blueprint)
        for layer in network.blueprint:
            for role, unit in network.units(layer).items():
                if unit.op is not None:
                    gradient = unit.op.weight.grad
                    moves = gradient is not None and bool(gradient.abs().max() > 0)
                    assert moves == (layer.name in found), (row, layer.name, role)
                    dead += not moves
    assert dead > 10


def test_cells_without_a_dead_operation_are_as_many_as_published() -> None:
    """9,445, as in the studies of zero-cost proxies; which operation stands at an edge does not matter, unless none."""
    total = 0
    for edges in product((NONE, SKIP), repeat=6):
        blueprint = CELLS.blueprint(edges)
        found = names(blueprint)
        chosen = [x.name for x in blueprint if x.kind == "skip"]
        total += 4 ** sum(e != NONE for e in edges) * all(name in found for name in chosen)
    assert total == 9445


def test_networks_that_differ_in_dead_operations_become_one() -> None:
    dead_conv = CELLS.blueprint((CONV, NONE, NONE, CONV, NONE, NONE))  # nobody reads node 1
    assert without_dead(dead_conv) == CELLS.blueprint((NONE, NONE, NONE, CONV, NONE, NONE)) != dead_conv
    whole = CELLS.blueprint((CONV, SKIP, CONV, CONV, CONV, CONV))
    assert without_dead(whole) == whole
    nothing = {without_dead(CELLS.blueprint(edges)) for edges in ((NONE,) * 6, (CONV, NONE, NONE, NONE, NONE, CONV))}
    assert len(nothing) == 1


def test_nothing_is_live_if_the_image_does_not_reach_the_logits() -> None:
    assert live(CELLS.blueprint((NONE,) * 6)) == ()
    assert live(CELLS.blueprint((CONV, NONE, NONE, NONE, NONE, CONV))) == ()


def test_chains_are_live_as_a_whole() -> None:
    blueprint = Macro().blueprint((0, 1, 2, 0, 0, 1, 2, 2))
    assert live(blueprint) == blueprint.layers


def test_what_nobody_reads_is_dead() -> None:
    stem = Layer("stem", "conv", 3, 4, 8, 8, 3)
    resolution = Layer("resolution", "conv", 4, 4, 8, 8, 3, inputs=("stem",))
    pool = Layer("pool", "gap", 4, 4, 8, 1, inputs=("stem",))
    logits = Layer("logits", "linear", 4, 10, 1, 1)
    assert live(Blueprint((stem, resolution, pool, logits))) == (stem, pool, logits)
