"""The process against scikit-learn's where both can do the same, and on NAS-Bench-Macro."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import kendalltau
from sklearn.gaussian_process import GaussianProcessRegressor  # type: ignore[import-untyped]
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern  # type: ignore[import-untyped]

from supernetic.benchmarks import macro
from supernetic.errors import InputError
from supernetic.predictors import Described, Features, GaussianProcess
from supernetic.predictors.features import normal_scores
from supernetic.predictors.gp import FREQUENCIES_PER_BLOCK, JITTER, MEAN_VARIANCE, _loss, _matern, _squares, _waves

Floats = npt.NDArray[np.float64]


def made_up(n: int, seed: int = 0) -> tuple[Described, Floats]:
    rng = np.random.default_rng(seed)
    layers, graph = rng.standard_normal((2, n, 3)) / np.sqrt(3)
    y = np.sin(3 * layers[:, 0]) + graph @ [1, 2, 0] + 0.1 * rng.standard_normal(n)
    return Described({"layers": layers, "graph": graph}, graph[:, 0]), y


def test_predictions_are_those_of_scikit_learn() -> None:
    """One block, no slope: the same kernel at the numbers that were fitted."""
    both, y = made_up(40)
    x = Described({"graph": both.blocks["graph"]}, np.zeros(40))
    ours = GaussianProcess().fit(x[np.arange(25)], y[:25])
    kernel = (
        ConstantKernel(MEAN_VARIANCE)
        + ConstantKernel(ours.trend) * DotProduct(1e-9)
        + ConstantKernel(ours.variances["graph"]) * Matern(ours.length, nu=2.5)
    )
    theirs = GaussianProcessRegressor(kernel, alpha=ours.noise + JITTER, optimizer=None)
    theirs.fit(x.blocks["graph"][:25], normal_scores(np.sort(y[:25]), y[:25]))
    mean, std = theirs.predict(x.blocks["graph"], return_std=True)
    got = ours.predict(x)
    assert got[0] == pytest.approx(mean, abs=1e-6)
    assert got[1] == pytest.approx(std, abs=1e-6)


def test_gradients_are_differences() -> None:
    x, y = made_up(20)
    lines = x.blocks["graph"] @ x.blocks["graph"].T
    squares = [_squares(b, b) for b in x.blocks.values()]
    start = np.log([0.1, 0.3, 1.0, 0.5, 0.5])

    def loss(logs: Floats) -> tuple[float, Floats]:
        return _loss(logs, start, y, MEAN_VARIANCE + JITTER * np.eye(20), lines, squares)

    def value(logs: Floats) -> float:
        return loss(logs)[0]

    point = start + 0.3
    assert loss(point)[1] == pytest.approx(approx_fprime(point, value, 1e-6), abs=1e-3)


def test_draws_have_the_mean_and_spread_of_the_prediction() -> None:
    x, y = made_up(60)
    process = GaussianProcess().fit(x[np.arange(15)], y[:15])
    mean, std = process.predict(x)
    rng = np.random.default_rng(0)
    draws = np.concatenate([process.sample(x, rng, 50) for _ in range(40)])  # waves are drawn anew 40 times
    assert np.abs(draws.mean(axis=0) - mean).max() < 0.15
    assert draws.std(axis=0) == pytest.approx(std, rel=0.2, abs=0.03)
    again = process.sample(x, np.random.default_rng(5), 2)
    assert np.array_equal(again, process.sample(x, np.random.default_rng(5), 2))


def test_waves_approximate_the_kernel() -> None:
    x = np.random.default_rng(1).standard_normal((30, 4)) / 2
    rng = np.random.default_rng(2)
    approximate = np.mean([w @ w.T for w in (_waves(x, rng) for _ in range(40))], axis=0)
    assert np.abs(approximate - _matern(_squares(x, x), 1.0)[0]).max() < 4 / np.sqrt(40 * FREQUENCIES_PER_BLOCK)


def test_labels_count_by_rank_alone() -> None:
    x, y = made_up(30)
    assert np.array_equal(GaussianProcess().fit(x, y).predict(x)[0], GaussianProcess().fit(x, np.exp(y)).predict(x)[0])


def test_labels_that_say_nothing_leave_the_prior_opinion() -> None:
    x, _ = made_up(30)
    mean = GaussianProcess(slope=(0.7, 0.01)).fit(x[np.arange(2)], [1.0, 1.0]).predict(x)[0]
    assert kendalltau(mean, x.prior).statistic > 0.5


@pytest.mark.parametrize(("n", "least"), [(10, 0.66), (32, 0.8), (100, 0.87)])
def test_few_labels_order_nasbench_macro(n: int, least: float) -> None:
    """Labels of one seed, the truth is the mean of the two others; their own tau with one another is .89."""
    table = macro.load().unique()
    x = Features(table.space)(table.archs)
    truth = (table["acc_s1"].values + table["acc_s2"].values) / 2
    taus = []
    for seed in range(4):
        rows = np.random.default_rng(seed).choice(len(table), n, replace=False)
        mean, _ = GaussianProcess().fit(x[rows], table["acc_s0"].values[rows]).predict(x)
        taus.append(kendalltau(mean, truth).statistic)
    assert np.mean(taus) > least


def test_refusals() -> None:
    x, y = made_up(5)
    with pytest.raises(InputError, match="at least 2 architectures"):
        GaussianProcess().fit(x[np.arange(1)], y[:1])
    with pytest.raises(InputError, match="finite label"):
        GaussianProcess().fit(x, [1, 2, 3, 4, np.nan])
    with pytest.raises(InputError, match="finite label"):
        GaussianProcess().fit(x, y[:4])
