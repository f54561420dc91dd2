"""Learning curves: a power law through the rungs, and what it says about more data.

Paper: ours; power laws of this form are customary (Hestness et al., arXiv 1712.00409). The interval takes the noise of
the scores into account, but not that the law itself may end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
FEWEST = 3  # rungs: the law has as many numbers
EXPONENTS = np.geomspace(0.02, 3, 60)


@dataclass(frozen=True, eq=False)
class Curve:
    """a + b (n / n_last)^-c with a, b >= 0, for one or many drawn profiles."""

    a: Floats
    b: Floats
    c: Floats
    last: float

    def __call__(self, n: float) -> Floats:
        """The score with n images."""
        found: Floats = self.a + self.b * (n / self.last) ** -self.c
        return found


def fit_curve(sizes: Sequence[int], scores: Floats, weights: Floats | None = None) -> Curve:
    """Least squares for each row of scores (the last axis is the size); the exponent is the best of a grid."""
    n = np.asarray(sizes, dtype=np.float64)
    w = np.ones(len(n)) if weights is None else weights / weights.mean()
    best = np.full(scores.shape[:-1], np.inf)
    a, b, c = np.zeros_like(best), np.zeros_like(best), np.zeros_like(best)
    for exponent in EXPONENTS:
        x = (n / n[-1]) ** -exponent
        level, slope = _line(x, scores, w)
        error = ((scores - level[..., None] - slope[..., None] * x) ** 2) @ w
        better = error < best
        best = np.where(better, error, best)
        a, b, c = (np.where(better, new, old) for new, old in ((level, a), (slope, b), (exponent, c)))
    return Curve(a, b, c, float(n[-1]))


def _line(x: Floats, y: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Level and slope of weighted least squares, neither below 0."""
    total, mean = w.sum(), x @ w / w.sum()
    height = y @ w / total
    slope = (y @ (w * (x - mean)) / ((x - mean) ** 2 @ w)).clip(min=0)
    level = height - slope * mean
    through = (y @ (w * x) / (x**2 @ w)).clip(min=0)  # the line through 0, where the level would be below it
    below = level < 0
    return np.where(below, 0.0, level), np.where(below, through, slope)
