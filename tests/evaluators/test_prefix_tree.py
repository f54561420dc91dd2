from __future__ import annotations

from itertools import product
from weakref import WeakSet

import pytest
import torch
from torch import Tensor

from supernetic.blueprint import Layer
from supernetic.evaluators.prefix_tree import IMAGE, PrefixNode, build_tree, run_tree
from supernetic.space import Space
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201


def tree(space: Space, archs: list[tuple[int, ...]]) -> PrefixNode:
    return build_tree((i, space.blueprint(a).layers) for i, a in enumerate(archs))


def trail(node: PrefixNode, xs: list[Tensor]) -> Tensor:
    """A stand-in for computing that depends on the layer and on all that it reads."""
    return torch.stack([x * 3 + i for i, x in enumerate(xs)]).sum(0) + hash(node.layer) % 1009


def alone(layers: tuple[Layer, ...], x: Tensor) -> Tensor:
    known, last = {IMAGE: x}, IMAGE
    for layer in layers:
        known[layer.name] = trail(PrefixNode(layer, ()), [known[n] for n in layer.inputs or (last,)])
        last = layer.name
    return known[last]


def test_all_of_macro_has_one_node_per_prefix() -> None:
    root = tree(Macro(), list(product(range(3), repeat=8)))
    body = [n for n in root.nodes() if n.layer.stage]
    assert len(body) == sum(3**i for i in range(1, 9)) == 9840
    assert sorted(i for n in root.nodes() for i in n.ends) == list(range(6561))


@pytest.mark.parametrize("space", [Macro(), NASBench201(cells=1)], ids=lambda s: s.name)
def test_the_tree_gives_what_each_network_gives_alone(space: Space) -> None:
    generator = torch.Generator().manual_seed(0)
    genes = torch.randint(0, 3, (40, len(space.choices)), generator=generator)
    archs = [tuple(row) for row in genes.tolist()]
    x = torch.arange(5, dtype=torch.float64)
    found = {i: y for node, y in run_tree(tree(space, archs), x, trail) for i in node.ends}
    assert len(found) == 40
    for i, arch in enumerate(archs):
        assert torch.equal(found[i], alone(space.blueprint(arch).layers, x))


def test_cells_share_their_stem_and_what_comes_before_the_first_difference() -> None:
    space = NASBench201(cells=1)
    root = tree(space, [(3, 3, 3, 3, 3, 3), (3, 3, 3, 3, 3, 0), (0, 3, 3, 3, 3, 3)])
    stem = next(iter(root.children.values()))
    assert len(root.children) == 1
    assert len(stem.children) == 2
    shared = len([n for n in root.nodes() if n.layer.name == "cell0.1to3"])
    assert shared == 2  # the first two networks part only behind it


def test_the_tree_keeps_one_map_per_branch_that_waits() -> None:
    alive: WeakSet[Tensor] = WeakSet()
    most = 0

    def compute(node: PrefixNode, xs: list[Tensor]) -> Tensor:
        nonlocal most
        y = torch.zeros(1)
        alive.add(y)
        most = max(most, len(alive))
        return y

    for _ in run_tree(tree(Macro(), list(product(range(3), repeat=8))), torch.zeros(1), compute):
        pass
    assert most <= 8 + 3  # one for each of eight choices, the layer at hand, the one it reads, the one just left


def test_a_single_network_keeps_only_what_is_still_read() -> None:
    counts: list[int] = []
    alive: WeakSet[Tensor] = WeakSet()

    def compute(node: PrefixNode, xs: list[Tensor]) -> Tensor:
        y = torch.zeros(1)
        alive.add(y)
        counts.append(len(alive))
        return y

    for _ in run_tree(tree(NASBench201(cells=2), [(3,) * 6]), torch.zeros(1), compute):
        pass
    assert len(counts) > 50
    assert max(counts) <= 8


def test_for_statistics_only_what_a_bn_follows_is_run() -> None:
    root = tree(NASBench201(cells=1), [(3,) * 6, (0, 0, 0, 0, 0, 2)])
    ran = [node.layer.name for node, _ in run_tree(root, torch.zeros(1), trail, norms_only=True)]
    every = [node.layer.name for node, _ in run_tree(root, torch.zeros(1), trail)]
    assert [name for name in every if name not in ("head.pool", "classifier")] == ran
