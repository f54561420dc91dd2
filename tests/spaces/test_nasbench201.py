import numpy as np
import pytest

from supernetic.costs import cost, costs_of
from supernetic.errors import ArchError, UnknownNameError
from supernetic.spaces.nasbench201 import EDGES, OPERATIONS, NASBench201

BEST = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|"


def test_the_published_string_and_costs() -> None:
    space = NASBench201()
    arch = space.parse(BEST)
    assert arch == (3, 3, 3, 1, 3, 2)
    assert space.format(arch) == BEST
    total = cost(space.blueprint(arch))
    assert total.macs / 1e6 == pytest.approx(153.273, abs=1e-3)
    assert total.params / 1e6 == pytest.approx(1.073, abs=1e-3)


@pytest.mark.parametrize(("masked", "size"), [((), 15_625), (("none",), 4096), (("none", "skip_connect"), 729)])
def test_masks(masked: tuple[str, ...], size: int) -> None:
    space = NASBench201(without=masked)
    assert space.size == size
    assert not set(space.operations) & set(masked)
    assert (0,) * 6 in {space.parse(space.format((0,) * 6))}


def test_a_masked_operation_does_not_parse() -> None:
    with pytest.raises(UnknownNameError, match="unknown operation 'skip_connect'"):
        NASBench201(without=("skip_connect",)).parse(BEST)


@pytest.mark.parametrize("text", ["|none~0|", BEST.replace("~1", "~2"), BEST[1:], "|a|b|"])
def test_malformed_strings(text: str) -> None:
    with pytest.raises((ArchError, UnknownNameError)):
        NASBench201().parse(text)


def test_unshared_cells_cost_the_same_when_tiled() -> None:
    shared, free = NASBench201(cells=2, channels=8), NASBench201(cells=2, channels=8, share_cells=False)
    assert len(free.choices) == 6 * 6
    archs = shared.sample(np.random.default_rng(0), 20)
    tiled = np.array([free.check(shared.tile(tuple(a))) for a in archs.tolist()], dtype=np.int8)
    assert costs_of(shared, archs).tolist() == costs_of(free, tiled).tolist()
    mixed = tuple(range(5)) * 7 + (0,)
    assert free.parse(free.format(mixed)) == mixed


def test_each_cell_sums_its_edges() -> None:
    blueprint = NASBench201(cells=1).blueprint((3, 0, 1, 2, 4, 3))
    nodes = {layer.name: layer for layer in blueprint if layer.kind == "join"}
    assert nodes["cell0.node3"].inputs == tuple(f"cell0.{i}to3" for i in range(3))
    assert nodes["cell0.node3"].join == "sum"
    edges = {layer.name: layer for layer in blueprint if "to" in layer.name}
    assert len(edges) == 3 * len(EDGES)
    assert edges["cell0.0to1"].inputs == ("stem",)
    assert edges["cell1.0to1"].inputs == ("reduce1",)
    assert [edges[f"cell0.{i}to{j}"].kind for i, j in EDGES] == [
        "preconv",
        "zero",
        "skip",
        "preconv",
        "avgpool",
        "preconv",
    ]


def test_options() -> None:
    mean = NASBench201(aggregate="mean").blueprint((0,) * 6)
    assert [layer.join for layer in mean if layer.kind == "join"] == ["mean"] * (3 * 5 * 3)
    plain, bare = (cost(NASBench201(affine=a).blueprint((3,) * 6)).params for a in (True, False))
    convs = 3 * 5 * 6
    assert plain - bare == sum(convs // 3 * c for c in (16, 32, 64))  # two BN numbers against one bias per channel
    assert len(OPERATIONS) == 5
