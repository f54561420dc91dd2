import numpy as np
import pytest

from supernetic.catalog import SPACES, space
from supernetic.costs.table import costs_of
from supernetic.samplers.extremes import _climbed, extremes
from supernetic.spaces.macro import Macro


def test_attentive_extremes_are_the_published_ones() -> None:
    made = space("attentive")
    smallest, largest = extremes(made)
    assert smallest == made.named["attentive-a0"]
    assert largest == tuple(len(c.options) - 1 for c in made.choices)
    assert costs_of(made, np.array([smallest, largest])).tolist() == [203_389_568, 1_939_335_808]


def test_macro_by_enumeration() -> None:
    made = Macro()
    archs = np.array(np.unravel_index(np.arange(3**8), (3,) * 8), dtype=np.int8).T
    costs = costs_of(made, archs)
    assert costs_of(made, np.array(extremes(made))).tolist() == [costs.min(), costs.max()]


@pytest.mark.parametrize("name", sorted(set(SPACES) - {"efficientnet"}))
def test_no_draw_lies_outside(name: str) -> None:
    made = space(name)
    low, high = (made.check(a) for a in extremes(made))
    least, most = costs_of(made, np.array([low, high]))
    costs = costs_of(made, made.sample(np.random.default_rng(1), 200))
    assert least <= costs.min()
    assert most >= costs.max()


def test_climbing_agrees_where_both_ways_exist() -> None:
    made = space("scalenet-base")
    climbed = np.array([_climbed(made, -1), _climbed(made, 1)])
    assert costs_of(made, climbed).tolist() == costs_of(made, np.array(extremes(made))).tolist()


def test_ties_take_the_first_and_the_last_option() -> None:
    smallest, largest = extremes(space("nasbench201"))
    assert smallest == (0,) * 6
    assert largest == (3,) * 6
