import numpy as np

from supernetic import catalog
from supernetic.costs.graph import cost_graph_of
from supernetic.costs.half_lists import list_halves
from supernetic.costs.table import costs_of
from supernetic.space import Archs, SequentialSpace


def test_counts_equal_brute_force(small: tuple[SequentialSpace, Archs]) -> None:
    space, archs = small
    costs = costs_of(space, archs)
    halves = list_halves(cost_graph_of(space))
    assert halves is not None
    rng = np.random.default_rng(0)
    for _ in range(20):
        low, high = np.sort(rng.integers(costs.min() - 1000, costs.max() + 1000, size=2)).tolist()
        expected = int(((costs >= low) & (costs <= high)).sum())
        assert halves.window(low, high).weight == expected


def test_nearest_costs(small: tuple[SequentialSpace, Archs]) -> None:
    space, archs = small
    costs = np.unique(costs_of(space, archs))
    halves = list_halves(cost_graph_of(space))
    assert halves is not None
    wide = int(np.diff(costs).argmax())
    assert halves.nearest(int(costs[wide]) + 1, int(costs[wide + 1]) - 1) == (costs[wide], costs[wide + 1])
    assert halves.nearest(0, 1) == (None, costs[0])


def test_weights_follow_the_prior(small: tuple[SequentialSpace, Archs]) -> None:
    halves = list_halves(cost_graph_of(small[0], "macs", "depth-uniform"))
    assert halves is not None
    assert np.isclose(halves.window(0, 1 << 60).weight, 1)


def test_what_is_too_large_is_not_listed() -> None:
    space = catalog.space("scarlet-s1")
    assert isinstance(space, SequentialSpace)
    assert list_halves(cost_graph_of(space)) is None


def test_attentive_total() -> None:
    space = catalog.space("attentive")
    assert isinstance(space, SequentialSpace)
    halves = list_halves(cost_graph_of(space))
    assert halves is not None
    assert halves.window(0, 1 << 40).weight == 440_301_256_704
