"""Which networks to label next, so that the order of all others becomes known best.

Paper: Cohn, Ghahramani & Jordan, "Active Learning with Statistical Models", arXiv cs/9603104, for a Gaussian process.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .features import Described
from .gp import Posterior

MOST_CANDIDATES = 1000


def informative(
    model: Posterior, x: Described, n: int, rng: np.random.Generator, *, labelled: npt.ArrayLike = ()
) -> npt.NDArray[np.int64]:
    """Choose networks whose labels are expected to lower the variance of all candidates most, one after the other.

    No label is needed on the way: what a Gaussian process expects to learn does not depend on what the labels will be.

    Args:
        model: A process that was fitted to a few labels, for instance of `stratified`.
        x: Features of all networks; the candidates are up to 1,000 random ones.
        n: How many to choose.
        rng: The source of randomness.
        labelled: Rows that have a label, and are no candidates.

    Returns:
        Rows, the most informative first.
    """
    drawn = rng.choice(len(x), min(len(x), MOST_CANDIDATES), replace=False)
    candidates = np.setdiff1d(drawn, np.asarray(labelled, dtype=np.int64))
    if not 1 <= n <= len(candidates):
        raise InputError(
            f"further labels must be at least 1 and at most one per candidate ({len(candidates)}), got {n}"
        )
    covariance = model.covariance(x[candidates])
    chosen: list[int] = []
    for _ in range(n):
        worth = (covariance**2).sum(axis=1) / (np.diag(covariance) + model.noise)
        worth[chosen] = -np.inf
        best = int(np.argmax(worth))
        column = covariance[:, best].copy()
        covariance -= np.outer(column, column) / (column[best] + model.noise)
        chosen.append(best)
    return candidates[chosen]
