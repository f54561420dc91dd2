"""Several Gaussian processes that expect to learn more or less beyond the prior mean, weighted by their evidence.

Paper: Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, section 5.2; MacKay, "Bayesian
Interpolation", 1992, for weighting models by their evidence.
Differences: each model's hyperparameters are fitted, and count at their best values only.

With few labels and a good prior mean, a process that starts from a large variance forgets the prior mean. One that
starts from a small variance could not learn if the prior mean were poor. The labels decide between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .features import Described
from .gp import GaussianProcess, Posterior
from .graph import Floats

AMPLITUDES = (0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class WeightedProcess:
    """Settings of the processes; `fit` learns from labels.

    Args:
        amplitudes: The variance that each process expects beyond the prior mean.
        process: What they have in common.
    """

    amplitudes: tuple[float, ...] = AMPLITUDES
    process: GaussianProcess = field(default_factory=GaussianProcess)

    def __post_init__(self) -> None:
        if not self.amplitudes or min(self.amplitudes) <= 0:
            raise InputError(f"amplitudes must be positive, and at least one, got {list(self.amplitudes)}")

    def fit(self, x: Described, y: npt.ArrayLike) -> WeightedPosterior:
        """Learn from labels.

        Args:
            x: Features of at least two architectures.
            y: A finite label for each; higher is better.
        """
        return WeightedPosterior([replace(self.process, amplitude=a).fit(x, y) for a in self.amplitudes])


class WeightedPosterior:
    """The processes after the labels; values are in standard deviations of the labels' normal scores."""

    def __init__(self, parts: Sequence[Posterior]) -> None:
        evidence = np.array([part.evidence for part in parts])
        weights = np.exp(evidence - evidence.max())
        self.parts = parts
        self.weights: Floats = weights / weights.sum()

    def predict(self, x: Described) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the value of each architecture."""
        means, deviations = (np.array(v) for v in zip(*(part.predict(x) for part in self.parts), strict=True))
        mean = self.weights @ means
        variance = self.weights @ (deviations**2 + (means - mean) ** 2)
        return mean, np.sqrt(variance)

    def sample(self, x: Described, rng: np.random.Generator, draws: int = 1) -> Floats:
        """Draw possible values of all architectures, each from one of the processes.

        Args:
            x: Features of the architectures.
            rng: The source of randomness.
            draws: Number of draws.

        Returns:
            One row per draw, one column per architecture.
        """
        counts = rng.multinomial(draws, self.weights)
        drawn = [part.sample(x, rng, n) for part, n in zip(self.parts, counts.tolist(), strict=True) if n]
        return rng.permutation(np.concatenate(drawn))


def stratified(prior: npt.ArrayLike, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Choose which architectures to label: one at random from each of `n` equal parts of the order by the prior.

    Args:
        prior: What is expected of each architecture.
        n: Number of labels.
        rng: The source of randomness.

    Returns:
        Rows, from the least to the most promising.
    """
    expected = np.asarray(prior, dtype=np.float64)
    if not 1 <= n <= len(expected):
        raise InputError(f"labels must be at least 1 and at most one per architecture ({len(expected)}), got {n}")
    order = rng.permutation(len(expected))  # equal expectations fall into a random order
    order = order[np.argsort(expected[order], kind="stable")]
    return np.array([rng.choice(part) for part in np.array_split(order, n)], dtype=np.int64)
