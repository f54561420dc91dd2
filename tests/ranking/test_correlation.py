from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from scipy import stats

from supernetic.errors import InputError
from supernetic.ranking.correlation import (
    average_ranks,
    count_pairs,
    pearson,
    spearman,
    t95,
    tau,
    tau_difference,
    weighted_tau,
)


def tied_lists(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, max(2, n // 2), n).astype(float), rng.integers(0, max(2, n // 3), n).astype(float)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 64, 65, 200])
def test_counts_per_item_equal_brute_force(n: int) -> None:
    for seed in range(10):
        x, y = tied_lists(seed, n)
        signs = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
        pairs = count_pairs(x, y)
        assert pairs.concordant.tolist() == (signs > 0).sum(axis=1).tolist()
        assert pairs.discordant.tolist() == (signs < 0).sum(axis=1).tolist()
        assert pairs.tied_x.tolist() == ((x[:, None] == x).sum(axis=1) - 1).tolist()
        assert pairs.tied_y.tolist() == ((y[:, None] == y).sum(axis=1) - 1).tolist()


def test_the_papers_count_ties_differently() -> None:
    pairs = count_pairs([1, 2, 3, 3], [1, 2, 3, 4])
    assert pairs.tau() == pytest.approx(5 / 6)
    assert pairs.tau_scalenet() == pytest.approx(4 / 6)
    reverse = count_pairs([1, 2, 3, 3], [4, 3, 2, 1])
    assert reverse.tau() == pytest.approx(-5 / 6)
    assert reverse.tau_scalenet() == 1.0


@pytest.mark.parametrize("n", [3, 10, 150])
def test_against_scipy(n: int) -> None:
    for seed in range(20):
        x, y = tied_lists(seed, n)
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            continue
        assert count_pairs(x, y).tau_b() == pytest.approx(stats.kendalltau(x, y).statistic)
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
        assert weighted_tau(x, y) == pytest.approx(stats.weightedtau(x, y).statistic)
        assert average_ranks(x).tolist() == stats.rankdata(x).tolist()


def test_many_items_against_scipy() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=15_625)
    y = x + rng.normal(size=15_625)
    pairs = count_pairs(x, y)
    assert pairs.tau() == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert pairs.tau() == pairs.tau_b()


def test_undefined_is_nan() -> None:
    for x, y in [([], []), ([1], [2])]:
        pairs = count_pairs(x, y)
        assert all(isnan(v) for v in (pairs.tau(), pairs.tau_scalenet(), pairs.tau_b(), *pairs.interval()))
        assert isnan(pearson(x, y))
        assert isnan(weighted_tau(x, y))
    constant = count_pairs([1, 1, 1], [1, 2, 3])
    assert constant.tau() == 0
    assert constant.tau_scalenet() == 1  # every pair is tied, so every pair is discordant
    assert isnan(constant.tau_b())
    assert isnan(spearman([1, 1, 1], [1, 2, 3]))
    assert isnan(weighted_tau([1, 1, 1], [1, 2, 3]))


def test_jackknife_leaves_each_item_out() -> None:
    x, y = tied_lists(3, 30)
    left_out = np.array([tau(np.delete(x, i), np.delete(y, i)) for i in range(30)])
    spread = np.sqrt(29 / 30 * ((left_out - left_out.mean()) ** 2).sum())
    low, high = count_pairs(x, y).interval()
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 29) * spread, rel=1e-4)
    assert (low + high) / 2 == pytest.approx(tau(x, y))


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    rho = 0.6
    truth = 2 / np.pi * np.arcsin(rho)  # tau of a bivariate normal
    hits = 0
    for _ in range(300):
        x = rng.normal(size=60)
        y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=60)
        low, high = count_pairs(x, y).interval()
        hits += low <= truth <= high
    assert 0.91 <= hits / 300 <= 0.99


def test_interval_stays_within_the_range_of_tau() -> None:
    assert count_pairs([1, 2, 3, 4], [1, 2, 4, 3]).interval()[1] == 1.0
    assert count_pairs([1, 2, 3], [1, 2, 3]).interval() == (1.0, 1.0)


@pytest.mark.parametrize("freedom", [8, 9, 24, 499])
def test_students_quantile(freedom: int) -> None:
    assert t95(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=2e-4)


def test_bad_lists() -> None:
    with pytest.raises(InputError, match=r"the same length.*\(2,\).*\(3,\)"):
        tau([1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="finite"):
        tau([1, np.nan], [1, 2])


def test_a_difference_of_taus_is_jackknifed_as_one_number() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40)
    good, bad = (truth + rng.normal(size=40) * noise for noise in (0.5, 2.0))
    value, (low, high) = tau_difference(count_pairs(good, truth), count_pairs(bad, truth))
    assert value == pytest.approx(tau(good, truth) - tau(bad, truth))
    left_out = np.array([tau(*(np.delete(v, i) for v in (good, truth))) - tau(*(np.delete(v, i) for v in (bad, truth)))
                         for i in range(40)])  # fmt: skip
    reach = t95(39) * np.sqrt(39 / 40 * ((left_out - left_out.mean()) ** 2).sum())
    assert (low, high) == pytest.approx((value - reach, value + reach))
    assert tau_difference(count_pairs(good, truth), count_pairs(good, truth)) == (0.0, (0.0, 0.0))
    with pytest.raises(InputError, match="the same items only, got 40 and 39 items"):
        tau_difference(count_pairs(good, truth), count_pairs(good[1:], truth[1:]))
