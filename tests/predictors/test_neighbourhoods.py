from __future__ import annotations

import numpy as np
import pytest

from supernetic import catalog
from supernetic.errors import InputError
from supernetic.predictors import Features, with_neighbourhoods
from supernetic.predictors.neighbourhoods import neighbourhoods


def cell(text: str) -> dict[str, int]:
    space = catalog.space("nasbench201:cells=1")
    return dict(neighbourhoods(space.blueprint(space.parse(text))))


def test_a_layer_behind_a_skip_reads_what_the_skip_reads() -> None:
    straight = "|nor_conv_3x3~0|+|none~0|nor_conv_1x1~1|+|none~0|none~1|skip_connect~2|"
    labels = cell(straight)
    pairs = {n for n in labels if n.count("(") == 2 and "CONV_K1" in n}
    assert pairs, labels
    assert any("CONV_K3" in n for n in pairs)
    assert not any("SKIP" in n.upper() for n in labels)


def test_dead_layers_have_no_label() -> None:
    live = cell("|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|")
    without = cell("|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|")
    assert live == without


def test_the_same_layers_in_another_order_differ() -> None:
    one = cell("|nor_conv_3x3~0|+|none~0|nor_conv_1x1~1|+|none~0|none~1|skip_connect~2|")
    other = cell("|nor_conv_1x1~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|skip_connect~2|")
    words = [{n: k for n, k in labels.items() if "(" not in n} for labels in (one, other)]
    assert words[0] == words[1]
    assert one != other


def test_the_block_joins_the_others() -> None:
    space = catalog.space("nasbench201:cells=1")
    archs = space.sample(np.random.default_rng(0), 40)
    x = Features(space)(archs)
    more = with_neighbourhoods(x, (space.blueprint(tuple(a)) for a in archs.tolist()))
    assert set(more.blocks) == {*x.blocks, "neighbourhoods"}
    block = more.blocks["neighbourhoods"]
    assert len(block) == 40
    assert (block**2).sum(axis=1).mean() == pytest.approx(1)
    assert more.prior is x.prior
    with pytest.raises(InputError, match="one blueprint per network, got 1 for 40"):
        with_neighbourhoods(x, [space.blueprint(tuple(archs[0].tolist()))])


def test_networks_that_are_all_alike_have_an_empty_block() -> None:
    space = catalog.space("nasbench201:cells=1")
    archs = space.sample(np.random.default_rng(0), 40)
    x, first = Features(space)(archs), space.blueprint(tuple(archs[0].tolist()))
    assert not with_neighbourhoods(x, [first] * 40).blocks["neighbourhoods"].any()
