"""A Gaussian process that ranks architectures from a few labels, with uncertainties.

Paper: Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006; draws by pathwise conditioning: Wilson et
al., "Efficiently Sampling Functions from Gaussian Process Posteriors", arXiv 2002.09309.
Differences: one kernel per block of features, and priors on the few fitted hyperparameters, so that 10 labels suffice
(scikit-learn's regressor has neither); labels are replaced by their normal scores, because accuracies have a long tail.

The value of a network is modelled as

    slope * prior mean + linear in some blocks + a smooth function of each block + noise

with the slope near 0.7, so that with few labels the order stays near that of the prior mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .features import Described, normal_scores
from .graph import Floats

Waves = npt.NDArray[np.float32]
MEAN_VARIANCE = 0.25  # of the constant term
JITTER = 1e-6  # added to the diagonal of kernels, for a stable Cholesky factor
FREQUENCIES_PER_BLOCK = 256  # random Fourier features of a draw
LOG_BOUND = 6.0  # hyperparameters stay within a factor exp(6) of their start


@dataclass(frozen=True)
class GaussianProcess:
    """Settings of a Gaussian process; `fit` learns from labels.

    The labels' normal scores have variance 1, so variances are shares of it. Four kinds of hyperparameters are fitted:
    the length scale (from 1, the root mean square of a block), the variance of the linear part, that of the noise, and
    that of the smooth function of each block (from `amplitude` in all). Each is expected within a factor e of its
    start.

    Args:
        linear: Blocks that enter linearly too.
        slope: Mean and standard deviation of the factor of the prior mean.
        noise: Variance of the noise, before fitting.
        trend: Variance of the linear part, before fitting and times `amplitude`.
        amplitude: Variance of what is learned beyond the prior mean, before fitting. The better the prior mean, the
            less there is to learn; `weighted` tries several.
    """

    linear: tuple[str, ...] = ("graph", "extra")
    slope: tuple[float, float] = (0.7, 0.3)
    noise: float = 0.135
    trend: float = 0.3
    amplitude: float = 1.0

    def fit(self, x: Described, y: npt.ArrayLike) -> Posterior:
        """Learn from labels.

        Args:
            x: Features of at least two architectures.
            y: A finite label for each; higher is better.
        """
        from scipy.optimize import minimize

        labels = np.asarray(y, dtype=np.float64)
        if len(x) < 2 or labels.shape != (len(x),) or not np.isfinite(labels).all():
            got = f"{len(x)} architectures and labels of shape {labels.shape}"
            raise InputError(f"a fit needs at least 2 architectures with a finite label each, got {got}")
        target = normal_scores(np.sort(labels), labels) - self.slope[0] * x.prior
        smooth = self.amplitude / len(x.blocks)
        start = np.log([self.noise, self.amplitude * self.trend, 1.0, *[smooth] * len(x.blocks)])
        fixed = MEAN_VARIANCE + self.slope[1] ** 2 * np.outer(x.prior, x.prior) + JITTER * np.eye(len(x))
        lines = self._lines(x) @ self._lines(x).T
        squares = [_squares(b, b) for b in x.blocks.values()]
        bounds = [(s - LOG_BOUND, s + LOG_BOUND) for s in start]
        best = minimize(_loss, start, (start, target, fixed, lines, squares), "L-BFGS-B", jac=True, bounds=bounds)
        noise, trend, length, *variances = np.exp(best.x).tolist()
        fitted = dict(zip(x.blocks, variances, strict=True))
        return Posterior(self, x, target, noise, trend, length, fitted, -float(best.fun))

    def _lines(self, x: Described) -> Floats:
        """Return the blocks that enter linearly, as one matrix whose rows have a mean square of 1."""
        chosen = [x.blocks[n] for n in self.linear if n in x.blocks] or [np.zeros((len(x), 1))]
        return np.concatenate(chosen, axis=1) / sqrt(len(chosen))


class Posterior:
    """The process after the labels; values are in standard deviations of the labels' normal scores."""

    def __init__(
        self, settings: GaussianProcess, x: Described, target: Floats,
        noise: float, trend: float, length: float, variances: Mapping[str, float], evidence: float,
    ) -> None:  # fmt: skip
        self.settings, self.x, self.target = settings, x, target
        self.evidence = evidence  # its logarithm, with the prior of the hyperparameters, up to a constant
        self.noise, self.trend, self.length, self.variances = noise, trend, length, variances
        self._factor = _cholesky(self._kernel(x, x) + (noise + JITTER) * np.eye(len(x)))
        self._solved = _solve(self._factor, target)

    def predict(self, x: Described) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the value of each architecture."""
        cross = self._kernel(x, self.x)
        mean = self.settings.slope[0] * x.prior + cross @ self._solved
        lines = self.settings._lines(x)
        own = MEAN_VARIANCE + sum(self.variances.values()) + self.trend * (lines**2).sum(axis=1)
        own += (self.settings.slope[1] * x.prior) ** 2
        explained = (np.linalg.solve(self._factor, cross.T) ** 2).sum(axis=0)
        return mean, np.sqrt(np.maximum(own - explained, 0))

    def covariance(self, x: Described) -> Floats:
        """Return what is still unknown about architectures, by pairs; the diagonal has their variances."""
        cross = self._kernel(self.x, x)
        explained = np.linalg.solve(self._factor, cross)
        covariance: Floats = self._kernel(x, x) - explained.T @ explained
        return covariance

    def sample(self, x: Described, rng: np.random.Generator, draws: int = 1) -> Floats:
        """Draw possible values of all architectures.

        A draw from the prior (smooth functions as sums of waves) is corrected by its errors at the labels. Both take
        time proportional to the number of architectures, so that whole spaces can be drawn.

        Args:
            x: Features of the architectures.
            rng: The source of randomness.
            draws: Number of draws.

        Returns:
            One row per draw, one column per architecture.
        """
        both = Described({n: np.concatenate([b, self.x.blocks[n]]) for n, b in x.blocks.items()},
                         np.concatenate([x.prior, self.x.prior]))  # fmt: skip
        lines = sqrt(self.trend) * self.settings._lines(both)
        before = rng.standard_normal((draws, lines.shape[1])) @ lines.T
        before += rng.standard_normal((draws, 1)) * sqrt(MEAN_VARIANCE)
        before += rng.standard_normal((draws, 1)) * self.settings.slope[1] * both.prior
        for name, block in both.blocks.items():
            heights = sqrt(self.variances[name]) * rng.standard_normal((draws, FREQUENCIES_PER_BLOCK))
            before += heights.astype(np.float32) @ _waves(block / self.length, rng).T
        at_x, at_labels = before[:, : len(x)], before[:, len(x) :]
        errors = self.target - at_labels - sqrt(self.noise) * rng.standard_normal(at_labels.shape)
        correction = _solve(self._factor, errors.T).T @ self._kernel(self.x, x)
        values: Floats = self.settings.slope[0] * x.prior + at_x + correction
        return values

    def _kernel(self, a: Described, b: Described) -> Floats:
        kernel = MEAN_VARIANCE + self.settings.slope[1] ** 2 * np.outer(a.prior, b.prior)
        kernel += self.trend * self.settings._lines(a) @ self.settings._lines(b).T
        for name, variance in self.variances.items():
            kernel += variance * _matern(_squares(a.blocks[name], b.blocks[name]), self.length)[0]
        return kernel


def _loss(
    logs: Floats, start: Floats, target: Floats, fixed: Floats, lines: Floats, squares: Sequence[Floats]
) -> tuple[float, Floats]:
    """Return minus log(evidence x prior of the hyperparameters), and its gradient by their logarithms."""
    noise, trend, length, *variances = np.exp(logs)
    one = np.eye(len(target))
    slopes = [noise * one, trend * lines, np.zeros_like(lines)]
    for variance, square in zip(variances, squares, strict=True):
        value, by_length = _matern(square, length)
        slopes[2] += variance * by_length
        slopes.append(variance * value)
    factor = _cholesky(fixed + slopes[0] + slopes[1] + sum(slopes[3:]))
    solved = _solve(factor, target)
    inner = _solve(factor, one) - np.outer(solved, solved)
    away = logs - start
    loss = 0.5 * target @ solved + np.log(np.diag(factor)).sum() + 0.5 * away @ away
    return float(loss), np.array([0.5 * (inner * s).sum() for s in slopes]) + away


def _cholesky(matrix: Floats) -> Floats:
    return np.linalg.cholesky(matrix).astype(np.float64)


def _solve(factor: Floats, right: Floats) -> Floats:
    """Solve a linear system, given the Cholesky factor of its matrix."""
    from scipy.linalg import cho_solve

    solved: Floats = cho_solve((factor, True), right)
    return solved


def _squares(a: Floats, b: Floats) -> Floats:
    """Return the squared distances between rows."""
    squares: Floats = np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T, 0)
    return squares


def _matern(squares: Floats, length: float) -> tuple[Floats, Floats]:
    """Return the Matern kernel of smoothness 5/2, and its derivative by the logarithm of the length scale."""
    r = np.sqrt(5 * squares) / length
    fall = np.exp(-r)
    return (1 + r + r**2 / 3) * fall, r**2 / 3 * (1 + r) * fall


def _waves(x: Floats, rng: np.random.Generator) -> Waves:
    """Return random waves whose inner products approximate that kernel.

    Their frequencies follow Student's t with 5 degrees of freedom. Single precision takes a tenth of the time and is
    enough for a draw.
    """
    normal = rng.standard_normal((x.shape[1], FREQUENCIES_PER_BLOCK))
    frequencies = normal / np.sqrt(rng.chisquare(5, FREQUENCIES_PER_BLOCK) / 5)
    phases = rng.uniform(0, 2 * np.pi, FREQUENCIES_PER_BLOCK)
    angles = x.astype(np.float32) @ frequencies.astype(np.float32) + phases.astype(np.float32)
    return np.float32(sqrt(2 / FREQUENCIES_PER_BLOCK)) * np.cos(angles)
