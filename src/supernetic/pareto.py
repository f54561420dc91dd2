"""Pareto fronts: ranks, hypervolume, crowding, and a few models spread evenly along a front.

Directions are handled once, in `points`: behind it every column is to be minimised. Ranks and hypervolumes come from
moocore.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .objective import Objective

Points = npt.NDArray[np.float64]  # one row per point, one column per objective, all to be minimised
Ints = npt.NDArray[np.int64]


def points(metrics: Sequence[Mapping[str, float]], objectives: Sequence[Objective]) -> Points:
    """Objectives of records, all to be minimised; what is missing or not finite is +inf, the worst.

    Args:
        metrics: one record per point.
        objectives: the columns.

    Returns:
        One row per record, one column per objective.
    """
    values = [[-m.get(o.name, -np.inf) if o.maximise else m.get(o.name, np.inf) for o in objectives] for m in metrics]
    table = np.array(values, dtype=np.float64).reshape(len(metrics), len(objectives))
    return np.where(np.isfinite(table), table, np.inf)


def rank(points: Points) -> Ints:
    """The front that each point belongs to.

    Args:
        points: one row per point.

    Returns:
        0 for points that no other dominates, 1 for those that only front 0 dominates, and so on.
    """
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    if points.shape[1] == 1:  # moocore needs two objectives
        return np.unique(points[:, 0], return_inverse=True)[1].astype(np.int64)
    from moocore import pareto_rank

    return np.asarray(pareto_rank(points), dtype=np.int64)


def front(points: Points) -> Ints:
    """The points that no other point dominates; equal points are all kept.

    Args:
        points: one row per point.

    Returns:
        Their positions, ascending.
    """
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    if points.shape[1] == 1:
        return np.flatnonzero(points[:, 0] == points[:, 0].min())
    from moocore import is_nondominated

    return np.flatnonzero(is_nondominated(points, keep_weakly=True))


def hypervolume(points: Points, reference: npt.ArrayLike) -> float:
    """The volume that points dominate.

    Args:
        points: one row per point.
        reference: the corner that bounds the volume, to be minimised like the points.

    Returns:
        The volume; 0 without points.
    """
    if len(points) == 0:
        return 0.0
    from moocore import hypervolume as measure

    return float(measure(points, ref=np.asarray(reference, dtype=np.float64)))


def crowding(points: Points, weights: Sequence[float] = ()) -> Points:
    """Weighted crowding distance of points of one front; the ends of every objective of weight > 0 are infinite.

    An inner point adds, per objective, its weight times the gap between its neighbours over the objective's range;
    an objective without range adds nothing.

    Args:
        points: one row per point, all of one front.
        weights: of the objectives; none: every one counts 1.

    Returns:
        One distance per point.
    """
    n, m = points.shape
    total = np.zeros(n)
    for column, weight in zip(points.T, weights or [1.0] * m, strict=True):
        if weight == 0:
            continue
        order = np.argsort(column, kind="stable")
        ordered = column[order]
        spread = ordered[-1] - ordered[0]
        if spread > 0:
            total[order[1:-1]] += weight * (ordered[2:] - ordered[:-2]) / spread
        total[order[[0, -1]]] = np.inf
    return total


def crowding_by_front(points: Points, ranks: Ints, weights: Sequence[float] = ()) -> Points:
    """Crowding distance of every point within its own front.

    Args:
        points: one row per point.
        ranks: the front of each, from `rank`.
        weights: of the objectives; none: all alike.

    Returns:
        One distance per point.
    """
    distance = np.zeros(len(points))
    for r in range(int(ranks.max(initial=-1)) + 1):
        members = np.flatnonzero(ranks == r)
        distance[members] = crowding(points[members], weights)
    return distance


def best_first(points: Points, weights: Sequence[float] = ()) -> Ints:
    """Positions from best to worst: by front, within a front the less crowded first. One objective: by value.

    Args:
        points: one row per point.
        weights: of the objectives in the crowding distance; none: all alike.

    Returns:
        Positions.
    """
    ranks = rank(points)
    if points.shape[1] == 1:
        return np.argsort(ranks, kind="stable")
    return np.lexsort((-crowding_by_front(points, ranks, weights), ranks))


def equispaced(values: npt.ArrayLike, k: int) -> list[int]:
    """A few values, each the nearest left to one of `k` equally spaced levels.

    Args:
        values: numbers along a front.
        k: how many.

    Returns:
        Positions of at most `k` values, in ascending order of the values.
    """
    column = np.asarray(values, dtype=np.float64)
    if len(column) <= k:
        return [int(i) for i in np.argsort(column, kind="stable")]
    free = np.ones(len(column), dtype=bool)
    for level in np.linspace(column.min(), column.max(), k)[_ends_first(k)]:
        free[np.argmin(np.where(free, np.abs(column - level), np.inf))] = False
    chosen = np.flatnonzero(~free)
    return [int(i) for i in chosen[np.argsort(column[chosen], kind="stable")]]


def _ends_first(k: int) -> list[int]:
    """The two ends, then the inner levels, so that no inner level takes an end away."""
    return sorted(range(k), key=lambda i: (0 < i < k - 1, i))
