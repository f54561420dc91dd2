"""Learning curves: a power law through the scores at all sizes, and what it predicts for more data.

Paper: ours; power laws of this form are customary (Hestness et al., arXiv 1712.00409). Intervals account for the noise
of the scores, but not for the possibility that the law stops holding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats

MIN_CURVE_SIZES = 3  # the law has three parameters
EXPONENT_GRID = np.geomspace(0.02, 3, 60)


@dataclass(frozen=True, eq=False)
class Curve:
    """The power law a + b (n / n_last)^-c with a, b >= 0, for one profile or for many drawn ones."""

    a: Floats
    b: Floats
    c: Floats
    last: float  # the largest size

    def __call__(self, n: float) -> Floats:
        """The predicted score with n images."""
        score: Floats = self.a + self.b * (n / self.last) ** -self.c
        return score


def fit_curve(sizes: Sequence[int], scores: Floats, weights: Floats | None = None) -> Curve:
    """Fit a power law to each row of scores by least squares; the exponent is the best of a grid.

    Args:
        sizes: Numbers of images, ascending.
        scores: Scores, with the size as the last axis.
        weights: One weight per size; all are equal by default.

    Returns:
        The curves, in arrays of the shape of `scores` without its last axis.
    """
    n = np.asarray(sizes, dtype=np.float64)
    w = np.ones(len(n)) if weights is None else weights / weights.mean()
    best = np.full(scores.shape[:-1], np.inf)
    a, b, c = np.zeros_like(best), np.zeros_like(best), np.zeros_like(best)
    for exponent in EXPONENT_GRID:
        x = (n / n[-1]) ** -exponent
        level, slope = _line(x, scores, w)
        error = ((scores - level[..., None] - slope[..., None] * x) ** 2) @ w
        better = error < best
        best = np.where(better, error, best)
        a, b, c = (np.where(better, new, old) for new, old in ((level, a), (slope, b), (exponent, c)))
    return Curve(a, b, c, float(n[-1]))


def _line(x: Floats, y: Floats, w: Floats) -> tuple[Floats, Floats]:
    """(level, slope) by weighted least squares, neither below 0."""
    total, mean = w.sum(), x @ w / w.sum()
    height = y @ w / total
    slope = (y @ (w * (x - mean)) / ((x - mean) ** 2 @ w)).clip(min=0)
    level = height - slope * mean
    through = (y @ (w * x) / (x**2 @ w)).clip(min=0)  # the line through 0, where the level would be below it
    below = level < 0
    return np.where(below, 0.0, level), np.where(below, through, slope)
