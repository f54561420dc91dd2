import pytest
import torch

import supernetic
from supernetic.commands.build import build
from supernetic.costs.macs import cost
from supernetic.errors import ArchError, InputError
from supernetic.spaces.macro import Macro

TEXT = "macro:channels=4,resolution=8,head=16"


def test_a_network_of_an_architecture() -> None:
    network = build(TEXT, "macro-best", seed=0)
    assert network(torch.randn(2, 3, 8, 8)).shape == (2, 10)
    assert network.blueprint == supernetic.cost(TEXT, "macro-best").blueprint
    same = build(Macro(channels=4, resolution=8, head=16), (2, 2, 2, 1, 2, 2, 0, 2), seed=0)
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), same.parameters(), strict=True))


def test_other_classes_and_scales() -> None:
    network = build(TEXT, "macro-best", classes=3)
    assert network(torch.randn(2, 3, 8, 8)).shape == (2, 3)
    assert cost(network.blueprint).params == sum(p.numel() for p in network.parameters())
    scaled = build(TEXT, "macro-best", scale="depth=2")
    assert len(scaled.blueprint) > len(network.blueprint)
    with pytest.raises(ArchError):
        build(TEXT, "222")
    with pytest.raises(InputError, match="classes must be at least 1"):
        build(TEXT, "macro-best", classes=0)
