import numpy as np
import pytest

from supernetic import catalog
from supernetic.costs.graph import cost_graph_of
from supernetic.costs.suffix_counts import count_exactly, count_suffixes
from supernetic.costs.table import costs_of
from supernetic.space import Archs, SequentialSpace


def windows(costs: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[tuple[int, int]]:
    low, high = int(costs.min()), int(costs.max())
    third = (high - low) // 3
    return [(low, high), (low + third, low + 2 * third), (low, low), (high, high), (low + third, low + third + 1000)]


def test_counts_equal_brute_force(small: tuple[SequentialSpace, Archs]) -> None:
    space, archs = small
    for metric in ("macs", "params"):
        costs = costs_of(space, archs, metric)
        graph = cost_graph_of(space, metric)
        counts = count_suffixes(graph, graph.unit)
        assert counts.exact
        for low, high in windows(costs):
            expected = int(((costs >= low) & (costs <= high)).sum())
            assert count_exactly(counts, low, high) == expected == counts.weight(low, high)


def test_coarse_units_count_a_superset(small: tuple[SequentialSpace, Archs]) -> None:
    space, archs = small
    costs = costs_of(space, archs)
    graph = cost_graph_of(space)
    counts = count_suffixes(graph, 7 * graph.unit + 3)
    assert not counts.exact
    for low, high in windows(costs):
        assert counts.weight(low, high) >= ((costs >= low) & (costs <= high)).sum()
    assert counts.weight(int(costs.min()), int(costs.max())) == len(archs)


def test_a_cap_changes_nothing_below_it(small: tuple[SequentialSpace, Archs]) -> None:
    space, archs = small
    graph, costs = cost_graph_of(space), costs_of(space, archs)
    half = int(np.median(costs))
    full, capped = count_suffixes(graph, graph.unit), count_suffixes(graph, graph.unit, half)
    assert capped.weight(0, half) == full.weight(0, half) == (costs <= half).sum()
    assert capped.suffixes[0].shape[1] < full.suffixes[0].shape[1]


@pytest.mark.parametrize("name", ["macro", "nasbench201", "nasbench101-chain", "scarlet-s1", "scarlet-s2", "attentive"])
def test_totals_are_exact_integers(name: str) -> None:
    """7^19 exceeds what floats count exactly, 13^19 what 64 bits hold."""
    space = catalog.space(name)
    assert isinstance(space, SequentialSpace)
    graph = cost_graph_of(space)
    least, most = graph.extremes()
    unit = max(graph.unit, (most - least) // 1000)
    assert count_exactly(count_suffixes(graph, unit), least, most) == space.size


def test_nearest_costs(small: tuple[SequentialSpace, Archs]) -> None:
    space, archs = small
    costs = np.unique(costs_of(space, archs))
    graph = cost_graph_of(space)
    counts = count_suffixes(graph, graph.unit)
    gaps = np.flatnonzero(np.diff(costs) > 2)
    assert len(gaps) > 0
    for i in gaps[:: max(1, len(gaps) // 5)]:
        assert counts.nearest(int(costs[i]) + 1, int(costs[i + 1]) - 1) == (costs[i], costs[i + 1])
    assert counts.nearest(int(costs[-1]) + 1, 1 << 60) == (costs[-1], None)


def test_no_draws_are_no_rows() -> None:
    space = catalog.space("macro")
    assert isinstance(space, SequentialSpace)
    graph = cost_graph_of(space)
    assert count_suffixes(graph, graph.unit).sample(np.random.default_rng(0), 0, 0, 1 << 60).shape == (0, 8)
