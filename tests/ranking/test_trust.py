from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from scipy import stats

from supernetic.ranking.trust import regret, top_pick, wilson


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_perfect_score_loses_nothing() -> None:
    truth = rng().normal(size=4000)
    loss, pick = regret(truth, truth, rng()), top_pick(truth, truth, rng())
    assert (loss.whole, loss.mean, loss.interval) == (0, 0, (0, 0))
    assert (pick.whole, pick.mean) == (1, 1)
    assert (loss.pool, loss.n) == (200, 20)
    assert pick.interval == pytest.approx(wilson(1.0, 20))


def test_a_reversed_score_picks_the_worst() -> None:
    truth = np.arange(1000.0)
    assert regret(-truth, truth, rng()).whole == 999
    assert regret(-truth, truth, rng(), k=10).whole == 990
    assert top_pick(-truth, truth, rng()).mean == 0


def test_a_random_score_hits_the_top_percent_one_time_in_a_hundred() -> None:
    generator = rng()
    truth, score = generator.normal(size=40_000), generator.normal(size=40_000)
    pick = top_pick(score, truth, rng())
    assert pick.n == 200
    assert pick.mean == pytest.approx(0.01, abs=0.01)
    assert pick.interval[0] < 0.01 < pick.interval[1]


def test_more_trained_networks_lose_less() -> None:
    generator = rng()
    truth = generator.normal(size=2000)
    score = truth + generator.normal(size=2000)
    losses = [regret(score, truth, rng(), k) for k in (1, 5, 200)]
    assert losses[0].mean > losses[1].mean > losses[2].mean == 0
    assert losses[0].interval[0] < losses[0].mean < losses[0].interval[1]


def test_equal_scores_are_chosen_among_at_random() -> None:
    truth = np.arange(400.0)
    assert regret(np.zeros(400), truth, rng()).mean == pytest.approx(196, abs=40)  # best of a pool less the mean


def test_small_sets() -> None:
    truth = np.arange(100.0)
    assert (regret(truth, truth, rng()).pool, regret(truth, truth, rng()).n) == (25, 4)
    tiny = top_pick(np.arange(5.0), np.arange(5.0), rng())
    assert tiny.whole == 1
    assert tiny.n == 0
    assert isnan(tiny.mean)


def test_the_same_seed_gives_the_same_answer() -> None:
    truth = rng().normal(size=1000)
    score = truth[::-1].copy()
    assert regret(score, truth, rng()) == regret(score, truth, rng())


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (7, 20), (20, 20)])
def test_wilson_against_scipy(hits: int, n: int) -> None:
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson(hits / n, n) == pytest.approx((expected.low, expected.high), abs=1e-9)
