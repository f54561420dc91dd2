"""How well a score orders the best networks of a table, and random ones: all numbers of one trained supernet.

Paper: "Single-path ranking correlations" (002), sections 3.3 and 3.4; the random set does not enter tau_a.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np

from ..arrays import Floats, Ints
from ..ranking.correlation import count_pairs, pearson, spearman
from ..ranking.top_n import best_first, tau_a, top_groups
from ..ranking.trust import regret

RANDOM = "random"
SERIES = ("tau", "tau_b", "spearman", "pearson", "score")  # each in every set of networks; score is the mean score
ALONE = ("tau_a", "regret", "regret10")


def names(sizes: Sequence[int]) -> list[str]:
    """The metrics of one score."""
    return [*(f"{s}@{where}" for s in SERIES for where in (*sizes, RANDOM)), *ALONE]


def chosen(truth: Floats, sizes: Sequence[int], random: int, seed: int = 0) -> tuple[Ints, Ints]:
    """(rows of the best networks, best first; rows of random ones): as many as there are, where more are asked for."""
    drawn = np.random.default_rng([seed, len(truth)]).permutation(len(truth))[:random]
    return best_first(truth)[: max(sizes)], np.sort(drawn)


def ranking(score: Floats, truth: Floats, best: Ints, random: Ints, sizes: Sequence[int]) -> dict[str, float]:
    """The metrics, from scores (more is better) by row of the table; where a score is NaN, the network is left out."""
    best, random = (rows[np.isfinite(score[rows])] for rows in (best, random))
    sets = {str(n): best[:n] for n in sizes} | {RANDOM: random}
    found: dict[str, float] = {}
    for where, rows in sets.items():
        x, y = score[rows], truth[rows]
        pairs = count_pairs(x, y)
        numbers = (pairs.tau(), pairs.tau_b(), spearman(x, y), pearson(x, y), float(x.mean()) if len(x) else nan)
        found |= {f"{s}@{where}": v for s, v in zip(SERIES, numbers, strict=True)}
    found["tau_a"] = tau_a(top_groups(score[best], truth[best], sizes)) if len(best) else nan
    for name, k in (("regret", 1), ("regret10", 10)):
        found[name] = regret(score[random], truth[random], np.random.default_rng(0), k).mean
    return found


def joint_tau_a(seeds: Sequence[dict[str, float]], sizes: Sequence[int]) -> float:
    """tau_a of the mean scores over all seeds, which is what the paper reports."""
    means = [float(np.mean([values[f"score@{n}"] for values in seeds])) for n in sizes]
    return count_pairs(list(sizes), means).tau() if np.isfinite(means).all() else nan
