from __future__ import annotations

import pytest

from supernetic import catalog
from supernetic.proxies.blocks import block_ends


@pytest.mark.parametrize(
    ("space", "names"),
    [
        ("nasbench201:cells=1", ["stem", "cell0.node3", "reduce1", "cell1.node3", "reduce2", "cell2.node3"]),
        ("transnas-micro:cells=1", ["stem1", "stem2", *(f"cell{i}.node3" for i in range(5))]),
    ],
)
def test_cells_are_blocks_whatever_is_in_them(space: str, names: list[str]) -> None:
    found = catalog.space(space)
    for arch in ((0,) * 6, (1,) * 6, (3, 0, 1, 2, 0, 3)):
        blueprint = found.blueprint(arch)
        assert [blueprint.layers[i].name for i in block_ends(blueprint)] == names


def test_in_a_chain_every_layer_with_weights_is_one_but_not_the_head() -> None:
    blueprint = catalog.space("macro").blueprint((0, 1, 2, 0, 0, 1, 2, 0))
    names = [blueprint.layers[i].name for i in block_ends(blueprint)]
    assert names == ["stem", "layer0", "layer1", "layer2", "layer5", "layer6"]
