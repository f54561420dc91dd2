from __future__ import annotations

import numpy as np
import pytest

from supernetic.errors import InputError
from supernetic.predictors import Described, GaussianProcess, WeightedProcess, stratified
from supernetic.ranking.correlation import count_pairs


def networks(n: int, quality: float, seed: int = 0) -> tuple[Described, np.ndarray]:
    """Features, a prior mean that is worth so much, and the truth."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    truth = np.sin(x).sum(axis=1) + 0.3 * rng.standard_normal(n)
    prior = quality * truth / truth.std() + (1 - quality) * rng.standard_normal(n)
    return Described({"graph": x / np.sqrt(3)}, prior / prior.std()), truth


def test_one_amplitude_is_the_process_alone() -> None:
    x, y = networks(40, 0.5)
    rows = np.arange(20)
    ours, theirs = WeightedProcess((1.0,)).fit(x[rows], y[:20]), GaussianProcess().fit(x[rows], y[:20])
    for a, b in zip(ours.predict(x), theirs.predict(x), strict=True):
        assert a == pytest.approx(b)
    assert ours.weights.tolist() == [1.0]


def test_mean_and_variance_are_those_of_the_mixture() -> None:
    x, y = networks(60, 0.5)
    fitted = WeightedProcess((0.05, 1.0)).fit(x[np.arange(20)], y[:20])
    mean, deviation = fitted.predict(x)
    draws = fitted.sample(x, np.random.default_rng(0), 4000)
    assert draws.shape == (4000, 60)
    assert np.abs(draws.mean(axis=0) - mean).max() < 0.1
    assert np.abs(draws.std(axis=0) - deviation).max() < 0.15
    assert fitted.weights.sum() == pytest.approx(1)


def test_labels_decide_how_much_is_learned_beyond_the_prior() -> None:
    weights = []
    for quality in (0.97, 0.0):
        x, y = networks(400, quality)
        weights.append(WeightedProcess((0.01, 1.0)).fit(x[np.arange(40)], y[:40]).weights)
    assert weights[0][0] > 0.5 > weights[1][0]


def test_a_good_prior_is_not_forgotten() -> None:
    gains = []
    for seed in range(5):
        x, y = networks(600, 0.85, seed)
        rows = np.random.default_rng(seed).choice(600, 12, replace=False)
        plain, weighted = (
            count_pairs(model.fit(x[rows], y[rows]).predict(x)[0], y).tau()
            for model in (GaussianProcess(), WeightedProcess())
        )
        gains.append(weighted - plain)
    assert np.mean(gains) > 0.01


def test_strata_cover_the_whole_order_and_equals_are_drawn_at_random() -> None:
    prior = np.random.default_rng(0).permutation(100).astype(float)
    rows = stratified(prior, 10, np.random.default_rng(1))
    assert (prior[rows] // 10).tolist() == list(range(10))
    assert rows.tolist() == stratified(prior, 10, np.random.default_rng(1)).tolist()
    tied = {tuple(stratified(np.zeros(5), 1, np.random.default_rng(k))) for k in range(40)}
    assert len(tied) == 5


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"amplitudes must be positive, and at least one, got \[0.0\]"):
        WeightedProcess((0.0,))
    with pytest.raises(InputError, match=r"at most one per architecture \(3\), got 4"):
        stratified([1, 2, 3], 4, np.random.default_rng(0))
