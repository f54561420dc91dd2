"""What a choice by a score costs: regret, and the odds of a top pick.

Paper: ours; reported with every ranking because a high tau over all networks can hide a useless order at the top.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, nan, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from .correlation import NO_INTERVAL, Z95, Interval, t95

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

POOL_SIZE = 200  # candidates that a small search would score
PARTITIONS = 20  # random deals of all networks into pools
MIN_POOLS = 4  # in a deal


@dataclass(frozen=True)
class Outcome:
    """What a choice by score leads to: among all networks, and on average among `pool` random ones."""

    whole: float
    mean: float
    interval: Interval  # 95 %, of the mean
    pool: int
    n: int  # disjoint pools that the interval rests on

    def to_json(self) -> dict[str, Any]:
        """A record."""
        return {
            "all": self.whole,
            "mean": self.mean,
            "interval": list(self.interval),
            "pool": self.pool,
            "n": self.n,
        }


def regret(score: Floats, truth: Floats, rng: np.random.Generator, k: int = 1, pool: int = POOL_SIZE) -> Outcome:
    """Truth lost by training only the `k` best by score and keeping the truly best of them (in the truth's unit).

    The networks are dealt at random into disjoint pools, again and again (`PARTITIONS` times); no network is ever drawn
    twice into a pool, as in a bootstrap, where duplicates tie. The mean is over all pools; its interval is that of as
    many independent pools as one deal gives.

    Args:
        score: The score of each network, more for better.
        truth: The truth of each network, more for better.
        rng: Deals the pools and breaks ties.
        k: How many networks are trained.
        pool: Networks of a pool, at most.

    Returns:
        The regret among all networks, and its mean over pools.
    """
    whole = _regret(score, truth, rng.permutation(len(truth)), k)
    pools = _pools(len(truth), pool, rng)
    if not pools:
        return Outcome(whole, nan, NO_INTERVAL, 0, 0)
    losses = np.array([[_regret(score, truth, rows, k) for rows in deal] for deal in pools])
    n = losses.shape[1]
    mean, spread = float(losses.mean()), float(losses.std(ddof=1))
    reach = t95(n - 1) * spread / sqrt(n)
    return Outcome(whole, mean, (max(0.0, mean - reach), mean + reach), len(pools[0][0]), n)


def top_pick(
    score: Floats, truth: Floats, rng: np.random.Generator, percent: float = 1.0, pool: int = POOL_SIZE
) -> Outcome:
    """Probability that the network with the best score is among the truly best `percent` % (rounded up, ties in).

    Among all networks that is 0 or 1. The mean is over random pools, dealt as in `regret`, each with its own top; the
    interval is Wilson's for as many trials as one deal has pools.

    Args:
        score: The score of each network, more for better.
        truth: The truth of each network, more for better.
        rng: Deals the pools and breaks ties.
        percent: How much of the networks counts as the top.
        pool: Networks of a pool, at most.

    Returns:
        The probability among all networks, and its mean over pools.
    """
    whole = _hit(score, truth, rng.permutation(len(truth)), percent)
    pools = _pools(len(truth), pool, rng)
    if not pools:
        return Outcome(whole, nan, NO_INTERVAL, 0, 0)
    mean = float(np.mean([[_hit(score, truth, rows, percent) for rows in deal] for deal in pools]))
    n = len(pools[0])
    return Outcome(whole, mean, wilson(mean, n), len(pools[0][0]), n)


def _pools(n: int, pool: int, rng: np.random.Generator) -> list[list[Ints]]:
    """`PARTITIONS` deals of the rows into at least four disjoint pools of equal size; what is left over sits out."""
    size = min(pool, n // MIN_POOLS)
    if size < 2:
        return []
    deals = [rng.permutation(n) for _ in range(PARTITIONS)]
    return [[deal[i : i + size] for i in range(0, n - size + 1, size)] for deal in deals]


def _regret(score: Floats, truth: Floats, rows: Ints, k: int) -> float:
    """Rows come in random order, so that equal scores are chosen among at random."""
    if not len(rows):
        return nan
    chosen = rows[np.argsort(-score[rows], kind="stable")[:k]]
    return float(truth[rows].max() - truth[chosen].max())


def _hit(score: Floats, truth: Floats, rows: Ints, percent: float) -> float:
    if not len(rows):
        return nan
    top = max(1, ceil(len(rows) * percent / 100))
    bar = np.partition(truth[rows], len(rows) - top)[len(rows) - top]
    return float(truth[rows[np.argmax(score[rows])]] >= bar)


def wilson(share: float, n: int) -> Interval:
    """Wilson's 95 % interval of a probability that was estimated as `share` from `n` trials."""
    z2 = Z95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = Z95 / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, centre - reach), min(1.0, centre + reach)
