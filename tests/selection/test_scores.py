from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from supernetic.calibration import cross_entropy
from supernetic.selection.scores import losses, score


def told(n: int, seed: int = 0, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Logits that mean what they say, but for a scale: labels are drawn from their softmax."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.standard_normal((n, 5))
    p = np.exp(log_softmax(z, axis=1))
    labels = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return (scale * z).astype(np.float32), labels


def test_the_temperature_undoes_a_known_scale() -> None:
    z, labels = told(20_000, scale=3)
    found = score(z, labels, z, labels)
    assert found.temperature == pytest.approx(3, rel=0.03)
    best = minimize_scalar(lambda t: cross_entropy(z, labels, t), bounds=(0.5, 10), method="bounded")
    assert found.temperature == pytest.approx(best.x, rel=1e-3)


def test_scores_are_those_of_scipy() -> None:
    z, labels = told(50)
    want = -log_softmax(z.astype(np.float64) / 2, axis=1)[np.arange(50), labels]
    np.testing.assert_allclose(losses(z, labels, 2), want)


@pytest.mark.parametrize("seed", range(5))
def test_calibrated_is_never_more_on_the_part_it_was_fitted_on(seed: int) -> None:
    z, labels = told(40, seed, scale=0.2 + seed)
    assert score(z, labels, z, labels).calibration <= cross_entropy(z, labels) + 1e-9


def test_logits_alike_up_to_scale_have_the_same_calibrated_scores_and_errors() -> None:
    z, labels = told(300)
    a, b = (score(k * z[:100], labels[:100], k * z[100:], labels[100:]) for k in (1, 4))
    np.testing.assert_allclose(a.values[0], b.values[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(a.values[2], b.values[2])
    assert abs(a.values[1].mean() - b.values[1].mean()) > 0.1
    assert a.values[2].mean() == pytest.approx(100 * (z[100:].argmax(axis=1) != labels[100:]).mean())


def test_a_part_without_a_mistake_says_too_little() -> None:
    z, labels = told(100)
    sure = np.eye(5, dtype=np.float32)
    found = score(sure, np.arange(5), z, labels)
    assert (found.bound, found.temperature) == (True, 1)
    np.testing.assert_array_equal(found.values[0], found.values[1])
    assert score(sure, (np.arange(5) + 1) % 5, z, labels).bound
    assert not score(z, labels, z, labels).bound
