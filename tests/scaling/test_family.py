from itertools import product

import numpy as np
import pytest

from supernetic.blueprint import Blueprint
from supernetic.costs import cost, costs_of
from supernetic.errors import InputError, UnknownNameError
from supernetic.scaling.budgets import Budgets, budgets_for
from supernetic.scaling.family import Candidate, Family, State, cross, factors_of
from supernetic.space import Arch
from supernetic.spaces.scaled import Strategies
from supernetic.spaces.scalenet import ScaleNet

SPACE = ScaleNet(resolution=64, width=0.5, classes=10)
TOP = (3, 3, 3, 1)  # a strategy of stage 3


@pytest.fixture(scope="module")
def family() -> Family:
    return Family(SPACE, budgets_for(SPACE.base, paths=10_000))


def test_misfit_is_relative_to_the_base_itself(family: Family) -> None:
    (base,) = family.draw(np.random.default_rng(0), 1)
    own, scaled = cost(SPACE.base.blueprint(base)).macs, cost(SPACE.blueprint(TOP + base)).macs
    assert family.misfit([base], [TOP])[0, 0] == pytest.approx(abs(scaled / 8 - own) / family.budgets.unit)


def test_draws_and_repairs_fit(family: Family) -> None:
    rng = np.random.default_rng(0)
    (base,) = family.draw(rng, 1)
    strategies: list[Arch] = [min(family.candidates(j, [base]), key=lambda c: c.off).genes for j in (1, 2, 3)]
    drawn = family.draw(rng, 6, strategies)
    assert len(set(drawn)) == 6
    assert family.fits(np.array(drawn, dtype=np.int8), strategies).all()
    wild = SPACE.base.sample(rng, 12)
    assert not family.fits(wild, strategies).all()
    repaired = family.repair(rng, wild, strategies)
    assert family.fits(repaired, strategies).all()
    for arch in repaired.tolist():
        SPACE.base.check(arch)
    macs = costs_of(SPACE.base, repaired)
    assert np.abs(macs - family.budgets.base).max() <= family.budgets.unit / 2
    kept = np.array(drawn, dtype=np.int8)
    assert (family.repair(rng, kept, strategies) == kept).all()


def test_a_grid_holds_each_network_once(family: Family) -> None:
    (base,) = family.draw(np.random.default_rng(1), 1)
    lists = SPACE.strategies
    found = family.candidates(2, [base])
    every: dict[Blueprint, list[float]] = {}
    for d, w, r in product(range(5), range(5), range(3)):
        network = SPACE.blueprint((2, d, w, r, *base))
        off = abs(cost(network).macs / 4 - cost(SPACE.base.blueprint(base)).macs) / family.budgets.unit
        if off <= 1:
            every.setdefault(network, []).append(lists.factors[2][d])
    assert len(found) == len(every)
    assert {SPACE.blueprint(c.genes + base) for c in found} == set(every)
    for c in found:
        depths = every[SPACE.blueprint(c.genes + base)]
        assert c.depths == (min(depths), max(depths))
        assert lists[c.genes].depth == sorted(depths)[(len(depths) - 1) // 2]


def test_depth_factors_that_are_one_network() -> None:
    """All four of stage 1; on average 2.5 of 5 in stage 2 and 2 of 7 in stage 3 differ."""
    space = ScaleNet()
    archs = space.base.sample(np.random.default_rng(0), 300, depth_uniform=True)
    differ = [
        np.mean([len({space.canonical((j, d, 0, 0, *a))[1] for d in range(n)}) for a in archs.tolist()])
        for j, n in ((1, 4), (2, 5), (3, 7))
    ]
    assert differ[0] == 1
    assert differ[1:] == pytest.approx([2.5, 2.0], abs=0.15)


def test_the_nearest_strategy_stands_in_where_none_fits(family: Family) -> None:
    narrow = Family(SPACE, Budgets(family.budgets.base, family.budgets.unit / 1e6))
    bases = family.draw(np.random.default_rng(0), 1)
    (only,) = narrow.candidates(1, bases)
    assert only.off > 1
    assert only.off / 1e6 == pytest.approx(min(family.misfit(bases, [(1, d, w, r) for d, w, r in GRID])[0]))


GRID = list(product(range(4), range(4), range(3)))


def test_ties_as_factors() -> None:
    chosen = [Candidate((1, 1, 0, 2), (1.04, 1.16), 0.1), Candidate((2, 2, 1, 0), (1.28, 1.28), 0.1)]
    space = ScaleNet()
    assert factors_of(space, chosen) == [(1.10, 1.04, 256 / 224), (1.28, 1.24, 272 / 224)]
    assert factors_of(space, chosen, "smallest")[0][0] == 1.04
    assert factors_of(space, chosen, "largest")[0][0] == 1.16
    with pytest.raises(UnknownNameError, match="did you mean 'middle'"):
        factors_of(space, chosen, "midle")  # type: ignore[arg-type]


def test_a_depth_comes_with_its_blocks() -> None:
    rng = np.random.default_rng(0)
    mothers, fathers = SPACE.base.sample(rng, 50), SPACE.base.sample(rng, 50)
    children = cross(SPACE.base, rng, mothers, fathers)
    for child in children.tolist():
        SPACE.base.check(child)
    assert (children != mothers).any()
    assert (children != fathers).any()


def test_state_record() -> None:
    state = State(1, (0, 1), (Candidate((1, 0, 0, 0), (1.0, 1.1), 0.5),), (3.0,), 3.0, 7)
    assert state.to_json() == {
        "round": 1,
        "base": [0, 1],
        "strategies": [{"genes": [1, 0, 0, 0], "depths": [1.0, 1.1], "off": 0.5}],
        "scores": [3.0],
        "score": 3.0,
        "evaluations": 7,
    }
    assert state.same_as(state._replace(round=2, evaluations=9))
    assert not state.same_as(state._replace(base=(0, 0)))


def test_budgets_and_lists_must_agree() -> None:
    with pytest.raises(InputError, match="each of 2 scaling stages, got 3 lists"):
        Family(SPACE, Budgets(1e6, 1e5, 2))
    with pytest.raises(InputError, match="each of 1 scaling stages, got 0 lists"):
        Family(SPACE.base * Strategies(((1.0,),), ((64,),)), Budgets(1e6, 1e5, 1))
