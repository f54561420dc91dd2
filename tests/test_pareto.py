from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from pymoo.indicators.hv import HV
from pymoo.operators.survival.rank_and_crowding.metrics import calc_crowding_distance
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from supernetic import pareto
from supernetic.objective import Objective

ACC, MACS = Objective("valid/accuracy", True), Objective("cost/macs", False)


def cloud(seed: int, n: int = 60, m: int = 2, levels: int = 0) -> pareto.Points:
    rng = np.random.default_rng(seed)
    return rng.integers(levels, size=(n, m)).astype(float) if levels else rng.random((n, m))


def test_directions_are_handled_once() -> None:
    records = [{"valid/accuracy": 90.0, "cost/macs": 5.0}, {"valid/accuracy": float("nan"), "cost/macs": 1.0}, {}]
    assert pareto.points(records, [ACC, MACS]).tolist() == [[-90, 5], [np.inf, 1], [np.inf, np.inf]]
    assert pareto.points([], [ACC, MACS]).shape == (0, 2)


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("levels", [0, 6])  # with 6 levels many points tie
@pytest.mark.parametrize("seed", range(3))
def test_ranks_are_pymoos(seed: int, levels: int, m: int) -> None:
    points = cloud(seed, m=m, levels=levels)
    ranks = pareto.rank(points)
    for r, members in enumerate(NonDominatedSorting().do(points)):
        assert sorted(np.flatnonzero(ranks == r)) == sorted(members)
    assert pareto.front(points).tolist() == np.flatnonzero(ranks == 0).tolist()


@pytest.mark.parametrize("levels", [0, 5])
def test_front_is_brute_force(levels: int) -> None:
    points = cloud(7, levels=levels)
    expected = [i for i, p in enumerate(points) if not any((q <= p).all() and (q < p).any() for q in points)]
    assert pareto.front(points).tolist() == expected


def test_one_objective() -> None:
    points = np.array([[3.0], [1.0], [2.0], [1.0]])
    assert pareto.rank(points).tolist() == [2, 0, 1, 0]
    assert pareto.front(points).tolist() == [1, 3]
    assert pareto.best_first(points).tolist() == [1, 3, 2, 0]
    assert pareto.hypervolume(points, [4.0]) == 3.0


def test_nothing_to_rank() -> None:
    none = np.zeros((0, 2))
    assert len(pareto.rank(none)) == len(pareto.front(none)) == len(pareto.best_first(none)) == 0
    assert pareto.hypervolume(none, [1.0, 1.0]) == 0
    assert pareto.equispaced([], 3) == []


@pytest.mark.parametrize("m", [2, 3])
def test_hypervolume_is_pymoos(m: int) -> None:
    points = cloud(3, m=m)
    assert pareto.hypervolume(points, [0.9] * m) == pytest.approx(float(HV(ref_point=np.full(m, 0.9))(points) or 0))


@pytest.mark.parametrize("seed", range(3))
def test_equal_weights_are_pymoos_crowding(seed: int) -> None:
    points = cloud(seed)
    points = points[pareto.front(points)]
    theirs = calc_crowding_distance(points)  # divides the sum by the number of objectives
    np.testing.assert_allclose(pareto.crowding(points), theirs * points.shape[1])


def test_weighted_crowding_by_hand() -> None:
    points = np.array([[0.0, 10.0], [1.0, 6.0], [4.0, 0.0]])
    ours = pareto.crowding(points, [0.25, 0.75])
    assert ours.tolist() == [np.inf, 0.25 * 4 / 4 + 0.75 * 10 / 10, np.inf]


def test_an_objective_of_weight_zero_gives_no_infinity() -> None:
    points = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 5.0], [0.5, 0.5, 0.0]])
    assert np.isinf(pareto.crowding(points, [1, 1, 1])).all()
    assert pareto.crowding(points, [1, 1, 0])[2] == 2


def test_an_objective_without_range_adds_nothing() -> None:
    points = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]])
    assert pareto.crowding(points)[1] == 1


def test_best_first_is_by_front_then_by_room() -> None:
    points = cloud(5)
    order = pareto.best_first(points)
    ranks = pareto.rank(points)
    room = pareto.crowding_by_front(points, ranks)
    assert sorted(order) == list(range(len(points)))
    assert all((ranks[a], -room[a]) <= (ranks[b], -room[b]) for a, b in pairwise(order))


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_equispaced_keeps_the_ends_and_the_order(k: int) -> None:
    values = np.sort(np.random.default_rng(0).random(40))[::-1]
    chosen = pareto.equispaced(values, k)
    assert len(chosen) == len(set(chosen)) == k
    taken = values[chosen]
    assert (np.diff(taken) > 0).all()
    assert taken[0] == values.min()
    if k > 1:
        assert taken[-1] == values.max()
        levels = np.linspace(values.min(), values.max(), k)
        assert all(
            np.abs(values - level).min() == pytest.approx(abs(t - level))
            for t, level in zip(taken, levels, strict=True)
        )


def test_equispaced_of_few_is_all() -> None:
    assert pareto.equispaced([3.0, 1.0, 2.0], 5) == [1, 2, 0]
    assert sorted(pareto.equispaced([1.0, 1.0, 1.0, 9.0], 3)) == [
        0,
        1,
        3,
    ]  # distinct, even at empty levels
