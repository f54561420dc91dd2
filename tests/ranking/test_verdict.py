from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from supernetic.ranking.verdict import agreement, compare, paired_interval


def test_a_perfect_order_of_few_networks_is_told_with_its_number() -> None:
    found = agreement("score", "truth", [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8])
    assert (found.value, found.n) == (1.0, 8)


def test_two_networks_show_nothing() -> None:
    found = agreement("score", "truth", [1, 2, float("nan")], [1, 2, 3])
    assert found.n == 2
    assert found.value is None
    assert not found.shown
    assert "not shown" in found.sentence()


def test_networks_that_are_alike_show_nothing() -> None:
    found = agreement("score", "truth", [1, 2, 3, 4], [10, 10, 10, 10])
    assert not found.shown
    assert "all 4 are alike" in found.sentence()


def test_a_handful_is_shown_only_if_chance_would_hardly_do_it() -> None:
    few = agreement("score", "truth", [1, 2, 3, 4, 5], [1, 2, 3, 5, 4])  # 5 of 120 orders are as good, 5 as bad
    assert few.value == 0.8
    assert not few.shown
    assert agreement("score", "truth", list(range(8)), list(range(8))).shown


def test_noise_is_not_shown_and_order_is() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40)
    noise = agreement("score", "truth", rng.normal(size=40).tolist(), truth.tolist())
    order = agreement("score", "truth", (truth + 0.3 * rng.normal(size=40)).tolist(), truth.tolist())
    against = agreement("score", "truth", (-truth).tolist(), truth.tolist())
    assert not noise.shown
    assert "not shown" in noise.sentence()
    assert order.shown
    assert not against.shown
    assert "must not be trusted" in against.sentence()


def test_the_interval_holds_its_promise() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        base = rng.random(300)
        a, b = base < 0.8, (base + rng.normal(scale=0.1, size=300)) < 0.75
        low, high = paired_interval(a, b)
        inside += low <= 0.8 - _expected(0.75) <= high
    assert 0.92 <= inside / 400 <= 0.98


@cache
def _expected(limit: float) -> float:
    rng = np.random.default_rng(2)
    return float(((rng.random(2_000_000) + rng.normal(scale=0.1, size=2_000_000)) < limit).mean())


@pytest.mark.parametrize(("wins", "losses", "words"), [(40, 5, "beats"), (5, 40, "loses"), (10, 9, "no difference")])
def test_words_follow_the_interval(wins: int, losses: int, words: str) -> None:
    mine, theirs = np.ones(500, dtype=bool), np.ones(500, dtype=bool)
    theirs[:wins] = False
    mine[wins : wins + losses] = False
    found = compare("model-1", "random-1", "random", mine, theirs)
    assert found.difference == pytest.approx(100 * (wins - losses) / 500)
    assert words in found.sentence()
    assert found.low < found.difference < found.high


def test_equal_networks_still_have_an_interval() -> None:
    same = np.array([True, False] * 50)
    found = compare("a", "b", "random", same, same)
    assert found.difference == 0
    assert found.low < 0 < found.high
