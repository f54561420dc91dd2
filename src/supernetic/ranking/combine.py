"""One score from several that have no common unit, by the ranks that each gives.

Paper: proxies are combined without labels as in Abdelfattah et al., "Zero-Cost Proxies for Lightweight NAS", arXiv
2101.08134; `az-rank` is the aggregation of Lee & Ham, "AZ-NAS", arXiv 2403.19232, section 3.3.
Differences: ranks are averaged where the first paper counts majorities of pairs. The two ways with logarithms point in
opposite directions:

- `log-rank` counts places from the best, so that one first place wins: between the first and the second there lies as
  much as between the tenth and the twentieth;
- `az-rank` counts ranks from the worst, so that one bad rank loses: a network must be good by every score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..errors import InputError, UnknownNameError
from .correlation import average_ranks

Floats = npt.NDArray[np.float64]

MEAN_RANK, LOG_RANK, AZ_RANK = "mean-rank", "log-rank", "az-rank"
COMBINATIONS = (MEAN_RANK, LOG_RANK, AZ_RANK)


def combine_ranks(
    scores: Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike],
    *,
    how: str = MEAN_RANK,
    weights: Sequence[float] | None = None,
) -> Floats:
    """The mean of what the rank that each score gives a network is worth.

    With n networks, rank r counted from the worst is worth r (`mean-rank`), minus the log of the place counted from the
    best (`log-rank`), or log(r / n) (`az-rank`).

    Ranks count from 1 for the worst, places from 1 for the best. Equal scores share their mean rank or place; those
    that are NaN share the last.

    Args:
        scores: Several scores of the same networks; more is better in each.
        how: One of `COMBINATIONS`.
        weights: How much each score counts; equally, unless given.

    Returns:
        One number per network; more is better.
    """
    lists = [np.asarray(s, np.float64) for s in (scores.values() if isinstance(scores, Mapping) else scores)]
    if how not in COMBINATIONS:
        raise UnknownNameError("way to combine scores", how, COMBINATIONS)
    if not lists:
        raise InputError("ranks are combined of at least one score, got none")
    if len({s.shape for s in lists}) > 1:
        raise InputError(f"combined scores must be of the same networks, got {', '.join(str(len(s)) for s in lists)}")
    if weights is not None and (len(weights) != len(lists) or min(weights) < 0 or not 0 < sum(weights) < np.inf):
        raise InputError(f"{len(lists)} scores need as many weights that are not negative, got {list(weights)}")
    numbers = [np.where(np.isnan(s), -np.inf, s) for s in lists]
    combined: Floats = np.average([_worth(s, how) for s in numbers], axis=0, weights=weights)
    return combined


def _worth(score: Floats, how: str) -> Floats:
    if how == LOG_RANK:
        worth: Floats = -np.log(average_ranks(-score))
        return worth
    ranks: Floats = average_ranks(score)
    return np.log(ranks / len(ranks)) if how == AZ_RANK else ranks
