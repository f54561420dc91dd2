from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from supernetic.ranking.sentences import tau_sentence, trust_sentences
from supernetic.ranking.verdict import agreement, compare, paired_interval


def test_a_perfect_order_of_few_networks_is_told_with_its_number() -> None:
    found = agreement("score", "truth", [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8])
    assert (found.value, found.n) == (1.0, 8)


def test_two_networks_show_nothing() -> None:
    found = agreement("score", "truth", [1, 2, float("nan")], [1, 2, 3])
    assert found.n == 2
    assert found.value is None
    assert not found.significant
    assert tau_sentence(found.to_json()).endswith("is unknown: n = 2 is too small.")


def test_networks_that_are_alike_show_nothing() -> None:
    found = agreement("score", "truth", [1, 2, 3, 4], [10, 10, 10, 10])
    assert not found.significant
    assert "all 4 are equal in one of them" in tau_sentence(found.to_json())


def test_a_handful_is_significant_only_if_chance_would_hardly_do_it() -> None:
    few = agreement("score", "truth", [1, 2, 3, 4, 5], [1, 2, 3, 5, 4])  # 5 of 120 orders are as good, 5 as bad
    assert few.value == 0.8
    assert not few.significant
    assert agreement("score", "truth", list(range(8)), list(range(8))).significant


def test_noise_is_not_significant_and_order_is() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40)
    noise = agreement("score", "truth", rng.normal(size=40).tolist(), truth.tolist())
    order = agreement("score", "truth", (truth + 0.3 * rng.normal(size=40)).tolist(), truth.tolist())
    against = agreement("score", "truth", (-truth).tolist(), truth.tolist())
    assert not noise.significant
    assert "not significant (the 95 % interval includes 0)" in tau_sentence(noise.to_json())
    assert order.significant
    assert not against.significant
    assert "Do not trust this ranking" in tau_sentence(against.to_json())


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


@pytest.mark.parametrize(("wins", "losses", "words"), [(40, 5, "beats"), (5, 40, "loses"), (10, 9, "not significant")])
def test_words_follow_the_interval(wins: int, losses: int, words: str) -> None:
    mine, theirs = np.ones(500, dtype=bool), np.ones(500, dtype=bool)
    theirs[:wins] = False
    mine[wins : wins + losses] = False
    found = compare("model-1", "random-1", "random", mine, theirs)
    assert found.difference == pytest.approx(100 * (wins - losses) / 500)
    assert words in trust_sentences({"comparisons": [found.to_json()]})[0]
    assert found.to_json()["significant"] == (words != "not significant")
    assert found.low < found.difference < found.high


def test_a_short_training_wins_nothing() -> None:
    mine, theirs = np.ones(500, dtype=bool), np.zeros(500, dtype=bool)
    won = compare("model-1", "random-1", "random", mine, theirs)
    assert won.won
    assert replace(won, steps=(100, 100), epochs=(2.0, 2.0)).won
    assert not replace(won, steps=(100, 62), epochs=(2.0, 1.2)).won


def test_equal_networks_still_have_an_interval() -> None:
    same = np.array([True, False] * 50)
    found = compare("a", "b", "random", same, same)
    assert found.difference == 0
    assert found.low < 0 < found.high
