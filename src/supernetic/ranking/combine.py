"""One score from several that have no common unit, by the ranks that each gives.

Paper: proxies are combined without labels as in Abdelfattah et al., "Zero-Cost Proxies for Lightweight NAS", arXiv
2101.08134.
Differences: ranks are averaged where the paper counts majorities of pairs. Logarithms of ranks weigh the head of each
list most: between the first and the second there lies as much as between the tenth and the twentieth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .correlation import average_ranks

Floats = npt.NDArray[np.float64]

MEAN_RANK, LOG_RANK = "mean-rank", "log-rank"
COMBINATIONS = (MEAN_RANK, LOG_RANK)


def combine_ranks(
    scores: Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike],
    *,
    log: bool = False,
    weights: Sequence[float] | None = None,
) -> Floats:
    """The mean of the ranks that each score gives a network, or of minus the log of its place.

    Ranks count from 1 for the worst, places from 1 for the best. Equal scores share their mean rank or place; those
    that are NaN share the last.

    Args:
        scores: Several scores of the same networks; more is better in each.
        log: Average minus the logarithms of places instead of ranks.
        weights: How much each score counts; equally, unless given.

    Returns:
        One number per network; more is better.
    """
    lists = [np.asarray(s, np.float64) for s in (scores.values() if isinstance(scores, Mapping) else scores)]
    if not lists:
        raise InputError("ranks are combined of at least one score, got none")
    if len({s.shape for s in lists}) > 1:
        raise InputError(f"combined scores must be of the same networks, got {', '.join(str(len(s)) for s in lists)}")
    if weights is not None and (len(weights) != len(lists) or min(weights) < 0 or not 0 < sum(weights) < np.inf):
        raise InputError(f"{len(lists)} scores need as many weights that are not negative, got {list(weights)}")
    numbers = [np.where(np.isnan(s), -np.inf, s) for s in lists]
    ranks = [-np.log(average_ranks(-s)) if log else average_ranks(s) for s in numbers]
    combined: Floats = np.average(ranks, axis=0, weights=weights)
    return combined
