from __future__ import annotations

import numpy as np
import pytest

from supernetic.costs.macs import cost
from supernetic.costs.table import CostTable, costs_of, tabulate
from supernetic.errors import ArchError, InputError, UnknownNameError
from supernetic.space import Arch, SequentialSpace, Space
from supernetic.spaces.efficientnet import EfficientNet
from supernetic.spaces.scaled import Strategies
from supernetic.spaces.scalenet import FACTORS, PIXELS, ScaleNet, ScaleNetBase
from supernetic.strategy import Scaling, scale

NOTATION = "MB1_K3 | MB6_K5_SE MB3_K3 | MB3_K3 | MB3_K3 | MB6_K7 | MB3_K3 MB3_K3 MB3_K3 MB3_K5 | MB6_K7_SE"


def draw(space: Space, n: int, *, depth_uniform: bool = False, seed: int = 0) -> list[Arch]:
    archs = space.sample(np.random.default_rng(seed), n, depth_uniform=depth_uniform)
    return [space.check(a) for a in archs]


@pytest.fixture(scope="module")
def table() -> CostTable:
    return tabulate(ScaleNet())


def test_sizes() -> None:
    assert ScaleNetBase().size == 22620**5 * 6 * 12
    assert ScaleNet().size == 271 * 22620**5 * 6 * 12
    assert f"{ScaleNet().size:.2e}" == "1.16e+26"
    assert ScaleNetBase(released=True).size == (3 + 9 + 27 + 81) ** 5 * 3 * 3
    assert [a * a * b for a, b in zip(map(len, FACTORS), map(len, PIXELS), strict=True)] == [1, 48, 75, 147]


@pytest.mark.parametrize(
    ("settings", "mean", "spread"),
    [({}, 318.8, 66), ({"released": True}, 409.8, 80), ({"width": 0.5}, 102.7, 21)],
    ids=["table 1", "released", "half width"],
)
def test_mean_cost_of_a_base(settings: dict[str, float], mean: float, spread: float) -> None:
    space = ScaleNetBase(**settings)  # type: ignore[arg-type]
    archs = space.sample(np.random.default_rng(0), 100_000, depth_uniform=True)
    macs = costs_of(space, archs) / 1e6
    # The standard error of a mean over 100,000 is .2 M, and the expected values are such means themselves.
    assert macs.mean() == pytest.approx(mean, abs=1)
    assert macs.std() == pytest.approx(spread, rel=0.02)


def test_stages_double_the_cost(table: CostTable) -> None:
    archs = ScaleNet().sample(np.random.default_rng(1), 200_000, depth_uniform=True)
    macs = table.costs(archs)
    means = [macs[archs[:, 0] == j].mean() for j in range(4)]
    assert [m / means[0] for m in means[1:]] == pytest.approx([2.12, 4.19, 8.91], rel=0.01)


@pytest.mark.parametrize("metric", ["macs", "params", "peak"])
def test_table_equals_blueprints(table: CostTable, metric: str) -> None:
    space = ScaleNet()
    archs = draw(space, 1000, depth_uniform=True)
    walked = [getattr(cost(space.blueprint(a)), metric) for a in archs]
    assert table.costs(np.array(archs, dtype=np.int8), metric).tolist() == walked


def test_equal_strategies_share_their_states(table: CostTable) -> None:
    """271 strategies, of which 100 scale some stage of 1 to 4 blocks differently."""
    assert table.slots[0].next.max() + 1 == 100
    assert max(len(slot.next) for slot in table.slots) == 400


@pytest.mark.parametrize(
    "space",
    [
        ScaleNet(rule="efficientnet", resolution=64, classes=10),
        ScaleNet(rule="repeat", released=True, resolution=32),
        ScaleNet(spatial="floor", width=0.5),
    ],
    ids=lambda s: f"{s.rule}-{s.spatial}",
)
def test_the_automaton_scales_as_scale_does(space: ScaleNet) -> None:
    for arch in draw(space, 200, depth_uniform=True):
        assert SequentialSpace.blueprint(space, arch) == space.blueprint(arch)


def test_base_table_equals_blueprints() -> None:
    space = ScaleNetBase(width=0.7, resolution=100, spatial="floor")
    archs = draw(space, 1000, depth_uniform=True)
    walked = [cost(space.blueprint(a)).macs for a in archs]
    assert costs_of(space, np.array(archs, dtype=np.int8)).tolist() == walked


def test_efficientnet_b0_scales_the_same_way() -> None:
    """S1 by hand: the middle of stage 1's lists, applied to B0."""
    nets = EfficientNet(spatial="floor")
    strategy = Strategies(FACTORS, PIXELS, spatial="floor")[1, 1, 0, 2]
    assert strategy == Scaling(1.08, 1.04, 256, "scalenet", "floor")
    assert scale(nets.blueprint((0,)), strategy) == nets.blueprint(nets.parse("efficientnet-s1"))


def test_canonical_is_one_name_per_network() -> None:
    space = ScaleNet()
    for arch in draw(space, 100, depth_uniform=True):
        stage, d, w, r = arch[:4]
        every = [(stage, i, w, r, *arch[4:]) for i in range(len(FACTORS[stage]))]
        same = [a for a in every if space.blueprint(a) == space.blueprint(arch)]
        assert (stage, d, w, r, *arch[4:]) in same
        assert {space.canonical(a) for a in same} == {same[0]}


def test_depth_factors_of_a_stage_that_coincide() -> None:
    """All four of stage 1 for any base; those of stage 3 fall in two for bases of four blocks."""
    s = ScaleNet().strategies
    assert {s.simplest((1, d, 0, 0), (1, 2, 3, 4)) for d in range(4)} == {(1, 0, 0, 0)}
    assert [s.simplest((3, d, 0, 0), (1, 2, 3, 4))[1] for d in range(7)] == [0, 0, 0, 3, 3, 3, 3]
    assert [s.simplest((3, d, 0, 0), (1, 3))[1] for d in range(7)] == [0] * 7


def test_notation() -> None:
    base = ScaleNetBase()
    arch = base.parse(NOTATION)
    assert base.format(arch) == NOTATION
    assert [c.name for c in base.choices][:4] == ["stage1.0", "stage2.depth", "stage2.0", "stage2.1"]
    labels = [x.label for x in base.blueprint(arch) if x.stage]
    assert labels == NOTATION.replace("|", "").split()
    full = ScaleNet()
    text = f"d=1.08 w=1.04 r=224px : {NOTATION}"
    assert full.parse(text) == (1, 1, 0, 0, *arch)
    assert full.format((1, 1, 0, 0, *arch)) == text
    for a in draw(full, 200, depth_uniform=True):
        assert full.parse(full.format(a)) == a
    half = ScaleNet(resolution=112)
    assert half.format((1, 1, 0, 2, *arch)).startswith("d=1.08 w=1.04 r=128px : ")


def test_bad_notation() -> None:
    base, full = ScaleNetBase(), ScaleNet()
    with pytest.raises(UnknownNameError, match="unknown block of stage 1 'MB6_K3'"):
        base.parse(NOTATION.replace("MB1_K3", "MB6_K3"))
    with pytest.raises(ArchError, match=r"stage 3 has 1\.\.4 blocks, got 5"):
        base.parse(NOTATION.replace("| MB3_K3 |", "| " + "MB3_K3 " * 5 + "|", 1))
    with pytest.raises(ArchError, match="27 integers"):
        base.parse("MB1_K3 | MB3_K3")
    with pytest.raises(ArchError, match=r"d=1 w=1 r=224px"):
        full.parse(f"d=1.08 w=1.4 r=256px : {NOTATION}")  # depth of stage 1, width of stage 3
    with pytest.raises(ArchError, match=r"scale.depth must lie in 0\.\.0 when scale.stage is 0, got 1"):
        full.check((0, 1, 0, 0, *base.parse(NOTATION)))
    with pytest.raises(ArchError, match=r"stage2.1 must lie in 0\.\.0 when stage2.depth is 0, got 5"):
        base.check((0, 0, 0, 5, *(0,) * 23))
    with pytest.raises(UnknownNameError):
        ScaleNet(rule="fix")
    with pytest.raises(UnknownNameError):
        ScaleNetBase(spatial="up")


def test_fewer_stages() -> None:
    made = ScaleNet(stages=1)
    assert made.strategies.factors == FACTORS[:2]
    assert made.size == (1 + 48) * ScaleNetBase().size
    with pytest.raises(InputError, match=r"scalenet: stages must lie in 1\.\.3, as in Table 2, got 4"):
        ScaleNet(stages=4)
