from __future__ import annotations

import numpy as np

from supernetic.ranking.correlation import tau
from supernetic.selection.agreement import agreements, contests, stable_from, taus

from .conftest import Make

CROSSING = {"small": (0.6, 1.0), "large": (0.3, 6.0), "poor": (1.2, 2.0)}  # small is best up to 277 images


def test_tau_is_that_of_single_path_ranking_correlations() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, (7, 6)).astype(float), rng.integers(0, 5, (7, 6)).astype(float)
    np.testing.assert_allclose(taus(a, b), [tau(x, y) for x, y in zip(a, b, strict=True)])


def test_subsets_are_compared_with_the_largest(make: Make) -> None:
    found = {(a.metric, a.target, a.size): a for a in agreements(make(CROSSING, noise=0.002))}
    early, late = (found["calibrated_cross_entropy", "calibrated_cross_entropy", n] for n in (100, 400))
    assert (early.tau, early.top, late.tau, late.top) == (1 / 3, False, 1.0, True)
    assert early.sure < 0.05
    assert late.sure > 0.95
    assert early.low <= early.tau <= early.high < late.low
    assert ("calibrated_cross_entropy", "error", 100) in found
    assert ("error", "calibrated_cross_entropy", 100) not in found
    assert not any(a.size == 800 for a in found.values())


def test_a_metric_that_is_as_good_as_the_other_is_not_shown_to_be_closer(make: Make) -> None:
    own = contests(make(CROSSING))[0]
    assert (own.target, own.value, own.verdict) == ("own", 0.0, "not shown")


def test_a_metric_that_ranks_at_random_is_farther(make: Make) -> None:
    p = make({f"m{i}": (0.1 * i, 4.0) for i in range(8)}, noise=0.002)
    rng = np.random.default_rng(1)
    for (_, n), cell in p.cells.items():
        if n < 800:
            cell[2] = 30 * rng.random()
    assert contests(p)[0].verdict == "closer"


def test_stable_from_is_where_the_last_change_was() -> None:
    assert stable_from(np.array([2, 1, 1, 1])) == 1
    assert stable_from(np.array([1, 1])) == 0
    assert stable_from(np.array([1, 2, 1, 3])) == 3
