"""A Gaussian process that orders architectures after a few labels, and says how sure it is.

Paper: Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006; draws by pathwise conditioning: Wilson et
al., "Efficiently Sampling Functions from Gaussian Process Posteriors", arXiv 2002.09309.
Differences: one kernel per block of features and priors on the few numbers that are fitted, so that 10 labels suffice
(scikit-learn's regressor has neither); labels are replaced by their normal scores, because accuracies have a long tail.

The value of a network is modelled as

    slope * prior opinion + linear in some blocks + a smooth function of each block + noise

with the slope near 0.7, so that few labels leave the order near that of the prior opinion.
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
OFFSET = 0.25  # variance of the mean
JITTER = 1e-6
FREQUENCIES = 256  # per block, of a draw


@dataclass(frozen=True)
class GaussianProcess:
    """Settings. Variances are in those of the labels' normal scores, whose own is 1.

    Fitted are the length scale (from 1, the root mean square of a block), the variances of the linear part, of the
    noise, and of the smooth function of each block (from 1 for all together), each expected within a factor e of its
    start.
    """

    linear: tuple[str, ...] = ("graph", "votes")  # blocks that enter linearly too
    slope: tuple[float, float] = (0.7, 0.3)  # of the prior opinion: mean and standard deviation
    noise: float = 0.135
    trend: float = 0.3  # variance of the linear part

    def fit(self, x: Described, y: npt.ArrayLike) -> Posterior:
        """Learn from labels, of which more is better."""
        from scipy.optimize import minimize

        labels = np.asarray(y, dtype=np.float64)
        if len(x) < 2 or labels.shape != (len(x),) or not np.isfinite(labels).all():
            raise InputError(f"a fit needs 2 architectures or more and a finite label for each, got {labels.shape}")
        target = normal_scores(np.sort(labels), labels) - self.slope[0] * x.prior
        start = np.log([self.noise, self.trend, 1.0, *[1 / len(x.blocks)] * len(x.blocks)])
        fixed = OFFSET + self.slope[1] ** 2 * np.outer(x.prior, x.prior) + JITTER * np.eye(len(x))
        lines = self._lines(x) @ self._lines(x).T
        squares = [_squares(b, b) for b in x.blocks.values()]
        bounds = [(s - 6, s + 6) for s in start]
        found = minimize(_loss, start, (start, target, fixed, lines, squares), "L-BFGS-B", jac=True, bounds=bounds)
        noise, trend, length, *variances = np.exp(found.x).tolist()
        return Posterior(self, x, target, noise, trend, length, dict(zip(x.blocks, variances, strict=True)))

    def _lines(self, x: Described) -> Floats:
        """The blocks that enter linearly, side by side; rows have a mean square of 1."""
        chosen = [x.blocks[n] for n in self.linear if n in x.blocks] or [np.zeros((len(x), 1))]
        return np.concatenate(chosen, axis=1) / sqrt(len(chosen))


class Posterior:
    """What is known after the labels, in standard deviations of their normal scores."""

    def __init__(
        self, settings: GaussianProcess, x: Described, target: Floats,
        noise: float, trend: float, length: float, variances: Mapping[str, float],
    ) -> None:  # fmt: skip
        self.settings, self.x, self.target = settings, x, target
        self.noise, self.trend, self.length, self.variances = noise, trend, length, variances
        self._factor = _cholesky(self._kernel(x, x) + (noise + JITTER) * np.eye(len(x)))
        self._solved = _solve(self._factor, target)

    def predict(self, x: Described) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the value of each architecture."""
        cross = self._kernel(x, self.x)
        mean = self.settings.slope[0] * x.prior + cross @ self._solved
        lines = self.settings._lines(x)
        own = OFFSET + sum(self.variances.values()) + self.trend * (lines**2).sum(axis=1)
        own += (self.settings.slope[1] * x.prior) ** 2
        known = (np.linalg.solve(self._factor, cross.T) ** 2).sum(axis=0)
        return mean, np.sqrt(np.maximum(own - known, 0))

    def sample(self, x: Described, rng: np.random.Generator, draws: int = 1) -> Floats:
        """Possible values of all architectures, one row per draw.

        A draw from before the labels (smooth functions as sums of waves) is corrected by what the labels say to its
        errors; both take time proportional to the number of architectures, so that whole spaces can be drawn.
        """
        both = Described({n: np.concatenate([b, self.x.blocks[n]]) for n, b in x.blocks.items()},
                         np.concatenate([x.prior, self.x.prior]))  # fmt: skip
        lines = sqrt(self.trend) * self.settings._lines(both)
        before = rng.standard_normal((draws, lines.shape[1])) @ lines.T
        before += rng.standard_normal((draws, 1)) * sqrt(OFFSET)
        before += rng.standard_normal((draws, 1)) * self.settings.slope[1] * both.prior
        for name, block in both.blocks.items():
            heights = sqrt(self.variances[name]) * rng.standard_normal((draws, FREQUENCIES))
            before += heights.astype(np.float32) @ _waves(block / self.length, rng).T
        here, there = before[:, : len(x)], before[:, len(x) :]
        errors = self.target - there - sqrt(self.noise) * rng.standard_normal(there.shape)
        learnt = _solve(self._factor, errors.T).T @ self._kernel(self.x, x)
        drawn: Floats = self.settings.slope[0] * x.prior + here + learnt
        return drawn

    def _kernel(self, a: Described, b: Described) -> Floats:
        kernel = OFFSET + self.settings.slope[1] ** 2 * np.outer(a.prior, b.prior)
        kernel += self.trend * self.settings._lines(a) @ self.settings._lines(b).T
        for name, variance in self.variances.items():
            kernel += variance * _matern(_squares(a.blocks[name], b.blocks[name]), self.length)[0]
        return kernel


def _loss(
    logs: Floats, start: Floats, target: Floats, fixed: Floats, lines: Floats, squares: Sequence[Floats]
) -> tuple[float, Floats]:
    """Minus the logarithm of evidence times prior, and its gradient, by the logarithms of what is fitted."""
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
    """Solve with the matrix whose Cholesky factor this is."""
    from scipy.linalg import cho_solve

    solved: Floats = cho_solve((factor, True), right)
    return solved


def _squares(a: Floats, b: Floats) -> Floats:
    """Squared distances between rows."""
    squares: Floats = np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T, 0)
    return squares


def _matern(squares: Floats, length: float) -> tuple[Floats, Floats]:
    """The Matern kernel of smoothness 5/2, and its derivative by the logarithm of the length scale."""
    r = np.sqrt(5 * squares) / length
    fall = np.exp(-r)
    return (1 + r + r**2 / 3) * fall, r**2 / 3 * (1 + r) * fall


def _waves(x: Floats, rng: np.random.Generator) -> Waves:
    """Random waves whose inner products approximate that kernel: its frequencies follow Student's t with 5 degrees.

    In single precision, which takes a tenth of the time and is enough for a draw.
    """
    normal = rng.standard_normal((x.shape[1], FREQUENCIES))
    frequencies = normal / np.sqrt(rng.chisquare(5, FREQUENCIES) / 5)
    phases = rng.uniform(0, 2 * np.pi, FREQUENCIES)
    angles = x.astype(np.float32) @ frequencies.astype(np.float32) + phases.astype(np.float32)
    return np.float32(sqrt(2 / FREQUENCIES)) * np.cos(angles)
