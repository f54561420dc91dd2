from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from supernetic.calibration import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    accuracy,
    cross_entropy,
    safe_temperature,
    temperature,
)
from supernetic.errors import InputError


def problem(seed: int, n: int = 300, classes: int = 10, scale: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, classes)) * scale
    chances = np.exp(logits / scale)
    labels = np.array([rng.choice(classes, p=p / p.sum()) for p in chances])
    return logits, labels


def test_cross_entropy_of_a_row_by_hand() -> None:
    logits = np.array([[0.0, np.log(3.0)], [np.log(3.0), 0.0]])
    assert cross_entropy(logits, np.array([1, 1])) == pytest.approx(-(np.log(0.75) + np.log(0.25)) / 2)
    assert accuracy(logits, np.array([1, 1])) == 50


def test_large_logits_do_not_overflow() -> None:
    logits = np.array([[1e4, 0.0], [0.0, 1e4]], dtype=np.float32)
    assert cross_entropy(logits, np.array([0, 0])) == pytest.approx(5e3)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0, 20.0])
def test_temperature_is_the_minimum(seed: int, scale: float) -> None:
    logits, labels = problem(seed, scale=scale)
    found = temperature(logits, labels)
    best = minimize_scalar(
        lambda b: cross_entropy(logits * np.exp(b), labels),
        bounds=(-4.6, 4.6),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert found == pytest.approx(np.exp(-best.x), rel=1e-5)
    assert cross_entropy(logits, labels, found) <= cross_entropy(logits, labels, 1.01 * found)
    assert cross_entropy(logits, labels, found) <= cross_entropy(logits, labels, found / 1.01)


def test_temperature_undoes_a_scale_and_leaves_accuracy() -> None:
    logits, labels = problem(0)
    assert temperature(5 * logits, labels) == pytest.approx(5 * temperature(logits, labels), rel=1e-9)
    assert accuracy(logits / 7, labels) == accuracy(logits, labels)


def test_hopeless_and_perfect_logits_stay_finite() -> None:
    logits = np.eye(4)
    assert temperature(logits, np.arange(4)) == pytest.approx(MIN_TEMPERATURE, rel=1e-6)
    assert temperature(logits, (np.arange(4) + 1) % 4) == pytest.approx(MAX_TEMPERATURE, rel=1e-6)
    assert temperature(np.zeros((4, 3)), np.zeros(4, dtype=int)) > 0


def test_what_is_no_batch_of_logits_is_refused() -> None:
    with pytest.raises(InputError, match=r"\(3, 2\) and \(2,\)"):
        cross_entropy(np.zeros((3, 2)), np.zeros(2, dtype=int))
    with pytest.raises(InputError, match="images x classes"):
        temperature(np.zeros((0, 2)), np.zeros(0, dtype=int))


def test_a_part_without_a_mistake_leaves_logits_as_they_are() -> None:
    logits = np.eye(4) * 3
    assert safe_temperature(logits, np.arange(4)) == 1
    mistaken = np.array([0, 1, 2, 2])
    assert safe_temperature(logits, mistaken) == temperature(logits, mistaken) != 1
