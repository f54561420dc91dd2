from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from supernetic.costs import costs_of
from supernetic.errors import ArchError, InputError
from supernetic.nn.network import build
from supernetic.spaces.transnas import TransNASMicro

PUBLISHED = Path(__file__).parents[3] / "shared/data/tnb101_micro_scores.npz"


@pytest.mark.skipif(not PUBLISHED.exists(), reason="needs ../shared/data/tnb101_micro_scores.npz")
def test_published_parameters_to_the_digit_and_flops_but_for_bn() -> None:
    space = TransNASMicro()
    with np.load(PUBLISHED) as published:
        archs, params, flops = published["ops"], published["params"], published["flops"]
    assert np.array_equal(costs_of(space, archs, "params"), np.rint(params * 1e6))
    more = flops - costs_of(space, archs) / 1e6  # theirs count BN, activations and pooling too
    assert (more > 0).all()
    assert (more / flops).max() < 0.03


def test_known_costs() -> None:
    space = TransNASMicro()
    archs = np.array([(0,) * 6, (3,) * 6], dtype=np.int8)
    assert costs_of(space, archs, "params").tolist() == [51_807, 41_443_935]


def test_texts() -> None:
    space = TransNASMicro()
    assert space.parse("3_02_113") == (3, 0, 2, 1, 1, 3)
    for text in ("3_02_114", "302_113", "3_0_113", "a_02_113"):
        with pytest.raises(ArchError):
            space.parse(text)


@pytest.mark.parametrize("arch", [(0,) * 6, (1,) * 6, (2, 3, 1, 0, 1, 3)])
def test_small_ones_run(arch: tuple[int, ...]) -> None:
    space = TransNASMicro(cells=1, channels=4, resolution=32, classes=7)
    blueprint = space.blueprint(arch)
    network = build(blueprint, seed=0)
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 7)
    joins = [layer.c_out for layer in blueprint if layer.name.endswith("node3")]
    assert joins == [8, 8, 16, 16, 32]


def test_bad_settings() -> None:
    with pytest.raises(InputError, match=r"cells must lie in 1\.\.100, got 0"):
        TransNASMicro(cells=0)
    with pytest.raises(InputError, match="channels must be at least 2, got 1"):
        TransNASMicro(channels=1)
