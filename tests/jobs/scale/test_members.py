import numpy as np
import pytest

from supernetic.blueprint import Blueprint
from supernetic.costs import cost
from supernetic.jobs.scale.members import B0, controls, curves, family
from supernetic.scaling.family import Candidate, State
from supernetic.scaling.generalise import fit
from supernetic.spaces.macro import Macro
from supernetic.spaces.scaled import Strategies
from supernetic.spaces.scalenet import ScaleNet

SPACE = ScaleNet(resolution=64, width=0.5, classes=10, stages=2)
BASE = SPACE.base.parse("MB1_K3 | MB3_K5_SE MB3_K3 | MB3_K5 | MB6_K5 MB3_K3 | MB6_K3 MB3_K3 | MB3_K7 | MB6_K3")
FOUND = (Candidate((1, 1, 1, 2), (1.04, 1.16), 0.1), Candidate((2, 4, 2, 1), (1.36, 1.36), 0.2))
STATE = State(2, BASE, FOUND, (1.0, 0.9), 0.95, 9)


def test_the_family() -> None:
    growth = curves(SPACE, STATE, "exponential")
    members = family(SPACE, STATE, growth, 2)
    assert [m.name for m in members] == ["s0", "s1", "s2", "s3", "s4"]
    assert members[0].network == SPACE.base.blueprint(BASE)
    assert members[1].network == SPACE.blueprint((1, 1, 1, 2, *BASE))
    assert [m.arch is None for m in members] == [False, False, False, True, True]
    macs = [m.macs for m in members]
    assert macs == sorted(macs)
    depth = fit("exponential", [1.10, 1.36])(3)  # the tied depths of stage 1 by their middle
    assert members[3].label.startswith(f"d={depth:.4g} w=")


def test_rivals_cost_the_same() -> None:
    members = family(SPACE, STATE, curves(SPACE, STATE, "exponential"), 1)
    rivals = {c.name: c for c in controls(SPACE, STATE, members, "exponential")}
    assert list(rivals) == [
        "general-2", "standard-0", "compound-1", "standard-1", "compound-2", "standard-2", "compound-3", "standard-3",
    ]  # fmt: skip
    macs = {m.name: m.macs for m in members}
    for name, rival in rivals.items():
        assert isinstance(rival.network, Blueprint)
        assert cost(rival.network).macs == rival.macs
        if name.startswith("standard"):
            assert rival.macs == pytest.approx(macs[rival.against], rel=0.03)
        elif name.startswith("compound"):
            assert rival.macs == pytest.approx(macs[rival.against], rel=0.15)  # depth grows by whole blocks
    assert rivals["general-2"].against == "s2"


def test_other_spaces_have_a_mobilenet_as_standard() -> None:
    base = Macro(channels=4, head=160, resolution=19)
    space = base * Strategies(((1.0,), (1.04, 1.12)), ((19,), (20, 22)))
    state = State(1, (1, 0, 2, 1, 0, 1, 2, 0), (Candidate((1, 1, 0, 1), (1.12, 1.12), 0.1),), (1.0,), 1.0, 9)
    members = family(space, state, curves(space, state, "exponential"), 1)
    rivals = {c.name: c for c in controls(space, state, members, "exponential")}
    assert list(rivals) == ["standard-0", "compound-1", "standard-1", "compound-2", "standard-2"]
    for j, member in enumerate(members):
        rival = rivals[f"standard-{j}"]
        assert rival.macs == pytest.approx(member.macs, rel=0.1)  # so narrow that a channel counts
        assert isinstance(rival.network, Blueprint)
        assert max(layer.stage for layer in rival.network) == 7
        assert rival.network.resolution == member.network.resolution


def test_the_last_stage_by_the_ones_before() -> None:
    growth = curves(SPACE, STATE, "exponential", stages=1)
    assert growth(2)[0] == pytest.approx(1.10**2)


def test_best_curves_have_the_least_error() -> None:
    errors = [curves(SPACE, STATE, name).left_out for name in ("exponential", "linear", "power")]
    assert len(set(errors)) == 3
    assert curves(SPACE, STATE, "best").left_out <= min(errors)


def test_b0_has_its_blocks() -> None:
    network = SPACE.base.blueprint(SPACE.base.parse(B0))
    blocks = [layer for layer in network if layer.kind == "mbconv"]
    assert np.bincount([layer.stage for layer in blocks])[1:].tolist() == [1, 2, 2, 3, 3, 4, 1]
    assert all(layer.se for layer in blocks)
