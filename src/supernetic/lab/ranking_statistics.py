"""How well the scores of one trained supernet order the best networks of a table, and random ones.

Paper: "Single-path ranking correlations", sections 3.3 and 3.4; the random set does not enter tau_a.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np

from ..arrays import Floats, Ints
from ..ranking.correlation import count_pairs, pearson, spearman
from ..ranking.top_n import best_first, tau_a, top_groups
from ..ranking.trust import regret

RANDOM_SET = "random"
SET_METRICS = ("tau", "tau_b", "spearman", "pearson", "score")  # one of each per set; score is the mean score
SINGLE_METRICS = ("tau_a", "regret", "regret10")


def metric_names(sizes: Sequence[int]) -> list[str]:
    """The names of all metrics of one score."""
    return [*(f"{s}@{where}" for s in SET_METRICS for where in (*sizes, RANDOM_SET)), *SINGLE_METRICS]


def choose_networks(truth: Floats, sizes: Sequence[int], random: int, seed: int = 0) -> tuple[Ints, Ints]:
    """Choose the networks that are scored.

    Args:
        truth: The truth, by row of the table.
        sizes: Sizes of the sets of best networks.
        random: The number of random networks.
        seed: Decides which random networks.

    Returns:
        The rows of the best networks, best first, and the rows of the random ones; fewer if the table has fewer.
    """
    random_rows = np.random.default_rng([seed, len(truth)]).permutation(len(truth))[:random]
    return best_first(truth)[: max(sizes)], np.sort(random_rows)


def ranking(score: Floats, truth: Floats, best: Ints, random: Ints, sizes: Sequence[int]) -> dict[str, float]:
    """Compute all metrics of a score; networks whose score is NaN are left out.

    Args:
        score: The score, more is better, by row of the table.
        truth: The truth, by row.
        best: Rows of the best networks, best first.
        random: Rows of random networks.
        sizes: Sizes of the sets of best networks.

    Returns:
        Values by metric.
    """
    best, random = (rows[np.isfinite(score[rows])] for rows in (best, random))
    sets = {str(n): best[:n] for n in sizes} | {RANDOM_SET: random}
    metrics: dict[str, float] = {}
    for where, rows in sets.items():
        x, y = score[rows], truth[rows]
        pairs = count_pairs(x, y)
        numbers = (pairs.tau(), pairs.tau_b(), spearman(x, y), pearson(x, y), float(x.mean()) if len(x) else nan)
        metrics |= {f"{s}@{where}": v for s, v in zip(SET_METRICS, numbers, strict=True)}
    metrics["tau_a"] = tau_a(top_groups(score[best], truth[best], sizes)) if len(best) else nan
    for name, k in (("regret", 1), ("regret10", 10)):
        metrics[name] = regret(score[random], truth[random], np.random.default_rng(0), k).mean
    return metrics


def joint_tau_a(seeds: Sequence[dict[str, float]], sizes: Sequence[int]) -> float:
    """tau_a of the mean scores over all seeds, as the paper reports it."""
    means = [float(np.mean([values[f"score@{n}"] for values in seeds])) for n in sizes]
    return count_pairs(list(sizes), means).tau() if np.isfinite(means).all() else nan
