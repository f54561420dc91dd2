from __future__ import annotations

from math import nan

import numpy as np
import pytest
from scipy import stats

from supernetic.lab.ranking_statistics import choose_networks, joint_tau_a, metric_names, ranking

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(90, 2, 400).round(2)
SCORE = TRUTH + RNG.normal(0, 2, 400)
SIZES = (10, 25, 50)


def test_metrics_agree_with_scipy() -> None:
    best, random = choose_networks(TRUTH, SIZES, 120)
    found = ranking(SCORE, TRUTH, best, random, SIZES)
    assert set(found) == set(metric_names(SIZES))
    top = np.argsort(-TRUTH, kind="stable")[:25]
    assert found["tau_b@25"] == pytest.approx(stats.kendalltau(SCORE[top], TRUTH[top]).statistic)
    assert found["spearman@random"] == pytest.approx(stats.spearmanr(SCORE[random], TRUTH[random]).statistic)
    assert found["pearson@50"] == pytest.approx(stats.pearsonr(SCORE[best], TRUTH[best]).statistic)
    assert found["score@10"] == pytest.approx(SCORE[top[:10]].mean())
    assert found["tau@random"] == pytest.approx(found["tau_b@random"], abs=0.01)
    assert 0 <= found["regret10"] <= found["regret"]


def test_networks_are_the_best_and_the_same_random_ones() -> None:
    best, random = choose_networks(TRUTH, SIZES, 30)
    assert len(best) == 50
    assert TRUTH[best].tolist() == sorted(TRUTH, reverse=True)[:50]
    assert len(np.unique(random)) == 30
    assert choose_networks(TRUTH[::-1], SIZES, 30)[1].tolist() == random.tolist()
    few = choose_networks(TRUTH[:20], SIZES, 30)
    assert [len(rows) for rows in few] == [20, 20]


def test_tau_a_of_a_perfect_score_is_minus_one_and_of_a_reversed_one_plus_one() -> None:
    best, random = choose_networks(TRUTH, SIZES, 30)
    assert ranking(TRUTH, TRUTH, best, random, SIZES)["tau_a"] == -1
    assert ranking(-TRUTH, TRUTH, best, random, SIZES)["tau_a"] == 1


def test_small_spaces_cut_the_sizes() -> None:
    best, random = choose_networks(TRUTH[:20], SIZES, 30)
    found = ranking(SCORE[:20], TRUTH[:20], best, random, SIZES)
    assert found["tau@25"] == found["tau@50"] == pytest.approx(found["tau@random"])
    assert abs(found["tau_a"]) == 1  # of two sizes, 10 and 20


def test_networks_without_a_score_are_left_out() -> None:
    holes = SCORE.copy()
    best, random = choose_networks(TRUTH, SIZES, 30)
    holes[best[3]] = nan
    assert np.isfinite([*ranking(holes, TRUTH, best, random, SIZES).values()]).all()
    nothing = ranking(np.full(400, nan), TRUTH, best, random, SIZES)
    assert np.isnan([nothing["tau@10"], nothing["tau_a"], nothing["score@random"]]).all()


def test_joint_tau_a_is_that_of_the_means() -> None:
    """Seeds that disagree: 3 > 2 > 1 and 1 < 2 < 6 on average is rising."""
    first = {"score@10": 3.0, "score@25": 2.0, "score@50": 1.0}
    second = {"score@10": 1.0, "score@25": 4.0, "score@50": 6.0}
    assert joint_tau_a([first], SIZES) == -1
    assert joint_tau_a([first, second], SIZES) == 1
