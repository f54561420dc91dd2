from __future__ import annotations

import numpy as np
import pytest

from supernetic.errors import InputError
from supernetic.predictors import Described, GaussianProcess, informative


def plane(n: int) -> tuple[Described, np.ndarray]:
    """Networks on a plane, and the truth."""
    points = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    return Described({"graph": points}, np.zeros(n)), np.sin(3 * points[:, 0]) + points[:, 1]


def test_covariance_has_the_variances_that_are_predicted() -> None:
    x, y = plane(60)
    model = GaussianProcess().fit(x[np.arange(12)], y[:12])
    covariance = model.covariance(x)
    assert np.sqrt(np.diag(covariance)) == pytest.approx(model.predict(x)[1])
    assert np.linalg.eigvalsh(covariance).min() > -1e-8


def test_each_choice_lowers_the_variance_of_all_most() -> None:
    x, y = plane(80)
    rows = np.arange(8)
    model = GaussianProcess().fit(x[rows], y[rows])
    (first,) = informative(model, x, 1, np.random.default_rng(0), labelled=rows)
    covariance = model.covariance(x)
    left = {i: np.trace(covariance - np.outer(c, c) / (c[i] + model.noise)) for i, c in enumerate(covariance) if i > 7}
    assert first == min(left, key=lambda i: left[i])


def test_choices_are_different_networks_without_a_label() -> None:
    x, y = plane(40)
    rows = np.arange(10)
    model = GaussianProcess().fit(x[rows], y[rows])
    chosen = informative(model, x, 30, np.random.default_rng(0), labelled=rows)
    assert sorted(chosen.tolist()) == list(range(10, 40))


def test_it_says_more_than_networks_at_random() -> None:
    x, y = plane(300)
    rows = np.arange(8)
    model = GaussianProcess().fit(x[rows], y[rows])
    covariance = model.covariance(x)

    def unknown(more: np.ndarray) -> float:
        """The variance that is left with these labels too."""
        known = covariance[np.ix_(more, more)] + model.noise * np.eye(len(more))
        return float(np.trace(covariance - covariance[:, more] @ np.linalg.solve(known, covariance[more])))

    ours = unknown(informative(model, x, 16, np.random.default_rng(0), labelled=rows))
    random = [unknown(np.random.default_rng(seed).choice(np.arange(8, 300), 16, replace=False)) for seed in range(5)]
    assert ours < 0.9 * min(random)


@pytest.mark.parametrize("n", [0, 33])
def test_more_labels_than_networks_are_refused(n: int) -> None:
    x, y = plane(40)
    model = GaussianProcess().fit(x[np.arange(8)], y[:8])
    with pytest.raises(InputError, match=rf"at most one per candidate \(32\), got {n}"):
        informative(model, x, n, np.random.default_rng(0), labelled=np.arange(8))
