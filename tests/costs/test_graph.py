import numpy as np
import pytest

from supernetic.costs.graph import cost_graph_of
from supernetic.costs.table import LayerCost, Metric, costs_of
from supernetic.errors import InputError, UnknownNameError
from supernetic.space import Archs, SequentialSpace
from supernetic.spaces.macro import Macro


def columns_of(space: SequentialSpace, archs: Archs) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return [slot.option(archs) for slot in cost_graph_of(space).slots]


def test_a_walk_costs_what_its_network_costs(small: tuple[SequentialSpace, Archs], layer_cost: LayerCost) -> None:
    space, archs = small
    metrics: tuple[Metric, ...] = ("macs", "params", layer_cost)
    for metric in metrics:
        graph = cost_graph_of(space, metric)
        total, state = np.full(len(archs), graph.offset), np.zeros(len(archs), dtype=np.int64)
        for slot, cost, column in zip(graph.slots, graph.costs, columns_of(space, archs), strict=True):
            total = total + cost[state, column]
            state = slot.next[state, column]
        expected = costs_of(space, archs, metric)
        assert (total == expected).all()
        assert graph.extremes() == (expected.min(), expected.max())
        assert not ((expected - graph.offset) % graph.unit).any()
        assert (graph.archs(columns_of(space, archs)) == archs).all()


def chances(space: SequentialSpace, archs: Archs, prior: object) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    graph = cost_graph_of(space, "macs", prior)  # type: ignore[arg-type]
    chance, state = np.ones(len(archs)), np.zeros(len(archs), dtype=np.int64)
    for slot, weight, column in zip(graph.slots, graph.weights, columns_of(space, archs), strict=True):
        chance = chance * weight[state, column]
        state = slot.next[state, column]
    return chance


def test_depth_uniform_weighs_as_the_space_samples(small: tuple[SequentialSpace, Archs]) -> None:
    space, archs = small
    chance = chances(space, archs, "depth-uniform")
    assert chance.sum() == pytest.approx(1)
    for i, c in enumerate(space.choices):
        if c.parent < 0:  # choices without a parent are uniform
            marginal = np.bincount(archs[:, i], weights=chance)
            assert marginal == pytest.approx(np.full(len(c.options), 1 / len(c.options)))


def test_a_factorised_prior_multiplies() -> None:
    space = Macro()
    archs = space.sample(np.random.default_rng(0), 50)
    prior = {"layer0": {"Identity": 0.0, "MB3_K3": 2.0}, "layer7": {"MB6_K5": 3.0}}
    expected = np.array([[0, 2, 1][a[0]] * [1, 1, 3][a[7]] for a in archs])
    assert chances(space, archs, prior) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("prior", "error", "message"),
    [
        ("uniforn", UnknownNameError, "did you mean 'uniform'"),
        ({"layer9": {"Identity": 1.0}}, UnknownNameError, "choice 'layer9'"),
        ({"layer0": {"identity": 1.0}}, UnknownNameError, "did you mean 'Identity'"),
        ({"layer0": {"Identity": -1.0}}, InputError, "not negative, got -1"),
    ],
)
def test_bad_priors(prior: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cost_graph_of(Macro(), "macs", prior)  # type: ignore[arg-type]


def test_a_prior_may_leave_nothing() -> None:
    nothing = {"layer0": {"Identity": 0.0, "MB3_K3": 0.0, "MB6_K5": 0.0}}
    with pytest.raises(InputError, match="must leave at least one architecture"):
        cost_graph_of(Macro(), "macs", nothing).extremes()
