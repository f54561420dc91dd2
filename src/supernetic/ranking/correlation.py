"""Rank correlations of a score with the truth, each as its paper counts pairs.

Paper: "Single-path ranking correlations", section 3.1; ScaleNet, supplement, eqs. 4-6; weighted tau: Vigna, "A Weighted
Correlation Index for Rankings with Ties", arXiv 1404.3325.

All taus follow from how many pairs of items are ordered the same way (concordant), oppositely (discordant), or tied in
either list. These are counted for every item in O(n log n), which also gives the exact jackknife.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..errors import InputError

Interval = tuple[float, float]

NO_INTERVAL: Interval = (nan, nan)
Z95 = 1.959963984540054  # half-width of the normal distribution's central 95 %, in standard deviations


@dataclass(frozen=True, eq=False)
class Pairs:
    """For each item, how many of the other items it is concordant, discordant or tied with."""

    concordant: Ints
    discordant: Ints
    tied_x: Ints  # tied in x, and perhaps in y too
    tied_y: Ints

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.concordant)

    @property
    def total(self) -> int:
        """Number of pairs."""
        return self.n * (self.n - 1) // 2

    @property
    def surplus(self) -> int:
        """Concordant minus discordant pairs; each pair is counted at both of its items."""
        return int((self.concordant - self.discordant).sum()) // 2

    # --- the taus, NaN where undefined --------------------------------------------------------------------------------

    def tau(self) -> float:
        """Kendall's tau-a, as in "Single-path ranking correlations": tied pairs count for neither side."""
        return self.surplus / self.total if self.n > 1 else nan

    def tau_scalenet(self) -> float:
        """ScaleNet's tau: tied pairs count as discordant, and the sign is dropped."""
        if self.n < 2:
            return nan
        concordant = int(self.concordant.sum()) // 2
        return abs(2 * concordant - self.total) / self.total

    def tau_b(self) -> float:
        """Kendall's tau-b, which leaves tied pairs out of the denominator."""
        untied_x = self.total - int(self.tied_x.sum()) // 2
        untied_y = self.total - int(self.tied_y.sum()) // 2
        return self.surplus / (sqrt(untied_x) * sqrt(untied_y)) if untied_x and untied_y else nan

    def interval(self) -> Interval:
        """The 95 % interval of tau-a by the jackknife.

        Each item in turn is left out with all its pairs (exactly, from the counts per item). No item ever meets
        itself, as duplicates of a bootstrap would: those tie and pull tau towards 0.
        """
        if self.n < 3:
            return NO_INTERVAL
        reach = _jackknife(self.concordant - self.discordant)
        return max(-1.0, self.tau() - reach), min(1.0, self.tau() + reach)


def count_pairs(x: npt.ArrayLike, y: npt.ArrayLike) -> Pairs:
    """Count the pairs of items that two lists of numbers order the same way, oppositely, or not at all.

    Args:
        x: One number per item, such as a score.
        y: Another number per item, such as the truth.

    Returns:
        The counts at each item, from which all taus follow.
    """
    x, y = _checked(x, y)
    n = len(x)
    rank_x, same_x = _dense(x)
    rank_y, same_y = _dense(y)
    same_both = _dense(rank_x * (n + 1) + rank_y)[1]
    # Items with equal x stand in descending y, so no pair of them looks concordant.
    order = np.lexsort((-rank_y, rank_x))
    concordant = np.empty(n, dtype=np.int64)
    concordant[order] = _ascending(rank_y[order])
    tied = same_x + same_y - same_both  # in either, the item itself counted once
    return Pairs(concordant, n - tied - concordant, same_x - 1, same_y - 1)


def tau_difference(a: Pairs, b: Pairs) -> tuple[float, Interval]:
    """Compare the tau-a of two scores of the same items.

    Args:
        a: Pairs of the first score and the truth.
        b: Pairs of the second score and the truth.

    Returns:
        The first tau minus the second, and the 95 % interval of that difference by the jackknife.
    """
    if a.n != b.n:
        raise InputError(f"two taus can be compared over the same items only, got {a.n} and {b.n} items")
    value = a.tau() - b.tau()
    if a.n < 3:
        return value, NO_INTERVAL
    reach = _jackknife(a.concordant - a.discordant - b.concordant + b.discordant)
    return value, (value - reach, value + reach)


def _jackknife(surplus: Ints) -> float:
    """Half the width of a tau's 95 % interval, from the surplus of concordant pairs at each item."""
    n = len(surplus)
    left_out = (int(surplus.sum()) // 2 - surplus) / ((n - 1) * (n - 2) / 2)
    return t95(n - 1) * sqrt((n - 1) / n * float(((left_out - left_out.mean()) ** 2).sum()))


def _ascending(values: Ints) -> Ints:
    """For each element: how many smaller ones stand before it plus how many larger ones behind it.

    A merge sort run backwards: start from all elements in ascending order and part them, block by block, into those
    that stand in the left and in the right half of the block. Whenever two elements part, they are compared once.
    """
    n = len(values)
    counts = np.zeros(n, dtype=np.int64)
    place = np.lexsort((-np.arange(n), values))  # ties: right before left, so that they count for neither
    slot = np.arange(n)
    for level in reversed(range(max(n - 1, 0).bit_length())):
        half = 1 << level
        start = place >> (level + 1) << (level + 1)  # of the element's block, in places as in slots
        is_left = place & half == 0
        lefts = np.concatenate(([0], np.cumsum(is_left)))
        before = lefts[slot] - lefts[start]  # lefts of the block that come earlier in ascending order
        rights_before = slot - start - before
        in_left = np.minimum(half, n - start)
        in_right = np.minimum(2 * half, n - start) - in_left
        counts[place] += np.where(is_left, in_right - rights_before, before)
        parted = np.empty(n, dtype=np.int64)
        parted[start + np.where(is_left, before, in_left + rights_before)] = place
        place = parted
    return counts


def _dense(values: npt.NDArray[np.generic]) -> tuple[Ints, Ints]:
    """(rank without gaps, number of equal values) of each value."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return inverse.astype(np.int64), counts[inverse].astype(np.int64)


def _checked(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError(f"a correlation needs two lists of the same length, got shapes {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("a correlation needs finite numbers, got NaN or infinity")
    return x, y


def tau(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Kendall's tau-a of two lists: tied pairs count for neither side."""
    return count_pairs(x, y).tau()


def average_ranks(values: npt.ArrayLike) -> Floats:
    """Ranks from 1 for the smallest; equal values share their mean rank."""
    values = np.asarray(values, dtype=np.float64)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[inverse]
    return ranks


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Pearson's linear correlation; NaN if a list is constant."""
    a, b = _checked(x, y)
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return nan
    a, b = a - a.mean(), b - b.mean()
    r = float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
    return max(-1.0, min(1.0, r))


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Pearson's correlation of the ranks."""
    x, y = _checked(x, y)
    return pearson(average_ranks(x), average_ranks(y))


def weighted_tau(x: npt.ArrayLike, y: npt.ArrayLike, pairs: Pairs | None = None) -> float:
    """Vigna's tau, in which pairs count by 1/rank of both items: mistakes at the top weigh most.

    Ranks are taken by x (ties by y) and by y (ties by x), and the two results averaged, as `scipy.stats.weightedtau`
    does. The weights of a pair add up, so sums over pairs are sums over the items' counts.

    Args:
        x: One number per item, such as a score.
        y: Another number per item, such as the truth.
        pairs: The result of `count_pairs(x, y)`, if it was computed before.

    Returns:
        The weighted tau; NaN if a list is constant.
    """
    x, y = _checked(x, y)
    pairs = pairs or count_pairs(x, y)
    if pairs.n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return nan
    results = []
    for keys in ((y, x), (x, y)):
        weight = np.empty(pairs.n)
        weight[np.lexsort(keys)[::-1]] = 1 / np.arange(1, pairs.n + 1)
        surplus = weight @ (pairs.concordant - pairs.discordant)
        untied_x, untied_y = weight @ (pairs.n - 1 - pairs.tied_x), weight @ (pairs.n - 1 - pairs.tied_y)
        results.append(float(surplus / np.sqrt(untied_x * untied_y)))
    return sum(results) / len(results)


def t95(freedom: int) -> float:
    """Half-width of the central 95 % of Student's t distribution.

    It is a Cornish-Fisher expansion, whose error is below 0.02 % from 8 degrees of freedom on.
    """
    z, v = Z95, freedom
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / v + second / v**2 + third / v**3
