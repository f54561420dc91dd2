from __future__ import annotations

from math import inf, log, nan
from typing import Any

import numpy as np
import pytest
from scipy import stats

from supernetic.errors import SupernetError
from supernetic.ranking.combine import AZ_RANK, LOG_RANK, MEAN_RANK, combine_ranks

A, B = np.array([10.0, 30.0, 20.0]), np.array([1e6, 5e6, 5e6])


def test_mean_of_ranks() -> None:
    assert combine_ranks([A, B]).tolist() == [1, (3 + 2.5) / 2, (2 + 2.5) / 2]
    assert combine_ranks({"a": A}).tolist() == [1, 3, 2]


def test_mean_of_log_places_counted_from_the_best() -> None:
    assert combine_ranks([A, B], how=LOG_RANK) == pytest.approx(
        [-log(3), -(log(1) + log(1.5)) / 2, -(log(2) + log(1.5)) / 2], abs=1e-12
    )
    many = combine_ranks([np.arange(100.0)], how=LOG_RANK)
    assert many[99] - many[98] == pytest.approx(many[90] - many[80])  # 1 to 2 as 10 to 20


def test_az_nas_counts_from_the_worst_so_that_one_bad_rank_loses() -> None:
    assert combine_ranks([A, B], how=AZ_RANK) == pytest.approx(
        [log(1 / 3), (log(1) + log(2.5 / 3)) / 2, (log(2 / 3) + log(2.5 / 3)) / 2], abs=1e-12
    )
    uneven = [np.array([100.0, *range(50)]), np.array([1.5, *range(50)])]  # best by one score, third worst by the other
    order = {how: np.argsort(-combine_ranks(uneven, how=how)).tolist() for how in (LOG_RANK, AZ_RANK)}
    assert order[LOG_RANK].index(0) < 10 < 30 < order[AZ_RANK].index(0)


@pytest.mark.parametrize("how", [MEAN_RANK, LOG_RANK, AZ_RANK])
def test_random_scores_against_scipy(how: str) -> None:
    rng = np.random.default_rng(0)
    scores = [rng.integers(8, size=50).astype(float), rng.normal(size=50), rng.normal(size=50)]
    weights = [0.5, 2.0, 0.0]
    ballots = [
        {MEAN_RANK: up, LOG_RANK: -np.log(down), AZ_RANK: np.log(up / 50)}[how]
        for up, down in ((stats.rankdata(s), stats.rankdata(-s)) for s in scores)
    ]
    expected = (0.5 * ballots[0] + 2 * ballots[1]) / 2.5
    assert combine_ranks(scores, how=how, weights=weights) == pytest.approx(expected)
    assert combine_ranks(scores, how=how) == pytest.approx(np.mean(ballots, axis=0))


def test_a_missing_number_is_ranked_last() -> None:
    assert combine_ranks([np.array([1.0, nan, -inf, 3.0, nan])]).tolist() == [4, 2, 2, 5, 2]
    places = combine_ranks([np.array([1.0, nan, 2.0])], how=LOG_RANK)
    assert places.tolist() == [-log(2), -log(3), 0]


@pytest.mark.parametrize(
    ("scores", "settings", "why"),
    [
        ([], {}, "at least one score, got none"),
        ({}, {}, "at least one score, got none"),
        ([A, B], {"how": "log"}, "unknown way to combine scores 'log'"),
        ([A, B[:2]], {}, "of the same networks, got 3, 2"),
        ([A, B], {"weights": [1.0]}, "2 scores need as many weights"),
        ([A, B], {"weights": [1.0, -1.0]}, r"not negative, got \[1.0, -1.0\]"),
        ([A, B], {"weights": [0.0, 0.0]}, "2 scores need"),
        ([A, B], {"weights": [nan, 1.0]}, "2 scores need"),
    ],
)
def test_bad_input(scores: Any, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(SupernetError, match=why):
        combine_ranks(scores, **settings)
