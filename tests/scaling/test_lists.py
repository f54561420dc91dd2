from itertools import pairwise

import numpy as np
import pytest

from supernetic import catalog
from supernetic.costs import cost
from supernetic.errors import InputError
from supernetic.scaling.budgets import Budgets, budgets_for
from supernetic.scaling.lists import Lists, growth_of, lists_for, scalings_of, table_2
from supernetic.scaling.macs import blueprints_of
from supernetic.spaces.macro import Macro
from supernetic.spaces.scalenet import FACTORS, PIXELS, ScaleNetBase
from supernetic.strategy import scale


@pytest.fixture(scope="module")
def made() -> Lists:
    return lists_for(ScaleNetBase(), Budgets(300e6, 50e6), bases=10)


def test_comes_near_table_2(made: Lists) -> None:
    """Ends of the lists are within two steps of the published ones, and stages cost 2^j times their base."""
    assert made.strategies.factors[0] == (1.0,)
    assert made.strategies.pixels[:2] == ((224,), (224, 240, 256))
    for ours, papers in zip(made.strategies.factors[1:], FACTORS[1:], strict=True):
        assert ours[0] == pytest.approx(papers[0], abs=0.08)
        assert ours[-1] == pytest.approx(papers[-1], abs=0.08)
    for slice_sides, published in zip(made.strategies.pixels, PIXELS, strict=True):
        assert len(slice_sides) == len(published)
        assert np.abs(np.array(slice_sides) - published).max() <= 4
    assert np.abs(made.off).max() < 0.08
    assert "1.04..1.12   224..256 px" in str(made)


def test_lists_follow_one_another(made: Lists) -> None:
    factors = [f for stage in made.strategies.factors for f in stage]
    assert np.diff(factors) == pytest.approx(0.04)
    assert all(a[-1] < b[0] for a, b in pairwise(made.strategies.pixels[1:]))


def test_growth_is_the_mean_over_all_strategies() -> None:
    space, strategies = Macro(), table_2(32)
    networks = blueprints_of(space, space.sample(np.random.default_rng(0), 2))
    base = np.mean([cost(n).macs for n in networks])
    stage = np.mean([cost(scale(n, s)).macs for n in networks for s in scalings_of(strategies, 1)])
    assert growth_of(networks, strategies)[1] == pytest.approx(stage / base)
    assert len(scalings_of(strategies, 3)) == 147


def test_a_declared_space() -> None:
    space = catalog.space("deep-narrow")
    made = lists_for(space, budgets_for(space, 2), bases=5)
    assert len(made.strategies.factors) == 3
    assert (space * made.strategies).size > space.size


def test_base_models_of_several_sides_are_refused() -> None:
    space = catalog.space("attentive")
    with pytest.raises(InputError, match="attentive cannot be scaled: its networks must all have the same resolution"):
        lists_for(space, Budgets(700e6, 100e6))
