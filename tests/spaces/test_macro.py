import numpy as np
import pytest

from supernetic import catalog
from supernetic.costs import cost, costs_of
from supernetic.errors import ArchError
from supernetic.spaces.macro import Macro


def test_distinct_networks() -> None:
    space = Macro()
    everything = [space.parse(np.base_repr(i, 3).zfill(8)) for i in range(3**8)]
    assert len({space.canonical(a) for a in everything}) == 3969


def test_identities_commute_inside_a_stage_only() -> None:
    space = Macro()
    assert space.canonical(space.parse("20102001")) == (2, 0, 1, 2, 0, 0, 1, 0)
    assert space.canonical(space.parse("02012012")) == (0, 2, 0, 1, 2, 0, 1, 2)


def test_the_table_agrees_on_equal_networks() -> None:
    table = catalog.table("macro")
    accuracy = table["mean_acc"].values
    by_network: dict[tuple[int, ...], set[float]] = {}
    for arch, value in zip(table, accuracy, strict=True):
        by_network.setdefault(table.space.canonical(arch), set()).add(float(value))
    assert all(len(values) == 1 for values in by_network.values())


def test_strided_identity_is_a_convolution() -> None:
    kinds = [layer.kind for layer in Macro().blueprint((0,) * 8)]
    assert kinds == ["conv", "conv", "skip", "conv", "skip", "skip", "conv", "skip", "skip", "conv", "gap", "linear"]
    assert cost(Macro().blueprint((0,) * 8)).macs == 7_713_280


def test_reduced() -> None:
    small = Macro(channels=8, resolution=16, in_channels=1)
    archs = small.sample(np.random.default_rng(0), 10)
    assert (costs_of(small, archs) < costs_of(Macro(), archs)).all()
    assert small.blueprint((2,) * 8).layers[0].c_in == 1


@pytest.mark.parametrize("text", ["2221220", "22212203", "abcdefgh"])
def test_malformed(text: str) -> None:
    with pytest.raises(ArchError):
        Macro().parse(text)
