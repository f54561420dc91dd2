"""How early does the ranking of models settle? The ranking on each subset is compared with that on the largest one.

Paper: "Small Data, Big Decisions", section 2, which compares rankings by cross-entropy and by error rate; Kendall's tau
as in "Single-path ranking correlations". Intervals are over draws of seeds and images, for the given models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Floats
from .profiles import Profiles, interval
from .scores import METRICS


@dataclass(frozen=True)
class Agreement:
    """The ranking by a metric at a subset size, compared with the ranking by `target` at the largest size."""

    metric: str
    target: str
    size: int
    tau: float
    low: float  # of the 95 % interval
    high: float
    top: bool  # whether both rankings have the same best model
    sure: float  # the share of draws in which they have


@dataclass(frozen=True)
class Contest:
    """Calibrated cross-entropy against error rate: the difference of their taus, averaged over the smaller subsets."""

    target: str  # "own": each is compared with its own final ranking; else both with the final ranking by this metric
    value: float
    low: float  # of the 95 % interval
    high: float

    @property
    def verdict(self) -> str:
        """`closer` or `farther` if calibrated cross-entropy differs significantly, else `not shown`."""
        return "closer" if self.low > 0 else "farther" if self.high < 0 else "not shown"


def agreements(profiles: Profiles) -> list[Agreement]:
    """Compare the ranking at every smaller size with the final rankings by the same metric and by error rate.

    Args:
        profiles: Scores of all models at all sizes.

    Returns:
        One record per metric, target and size below the largest.
    """
    records = []
    for metric in METRICS:
        for target in dict.fromkeys((metric, "error")):
            taus_of_means, taus_of_draws = _taus(profiles, metric, target)
            i, j = METRICS.index(metric), METRICS.index(target)
            for k, size in enumerate(profiles.sizes[:-1]):
                low, high = interval(taus_of_draws[:, k])
                top = profiles.means[i, :, k].argmin() == profiles.means[j, :, -1].argmin()
                same = profiles.draws[:, i, :, k].argmin(axis=1) == profiles.draws[:, j, :, -1].argmin(axis=1)
                tau = float(taus_of_means[k])
                records.append(
                    Agreement(metric, target, size, tau, min(low, tau), max(high, tau), bool(top), float(same.mean()))
                )
    return records


def contests(profiles: Profiles) -> list[Contest]:
    """Compare calibrated cross-entropy with error rate, for each final ranking that both may be compared with.

    Args:
        profiles: Scores of all models at all sizes.

    Returns:
        One record per target; none if there is only one size.
    """
    if len(profiles.sizes) < 2:
        return []
    records = []
    for target in ("own", "error", "calibrated_cross_entropy"):
        ours, our_draws = _taus(profiles, METRICS[0], METRICS[0] if target == "own" else target)
        theirs, their_draws = _taus(profiles, "error", "error" if target == "own" else target)
        low, high = interval((our_draws - their_draws).mean(axis=1))
        records.append(Contest(target, float((ours - theirs).mean()), low, high))
    return records


def _taus(profiles: Profiles, metric: str, target: str) -> tuple[Floats, Floats]:
    """Tau at each size below the largest, of the means and of the draws."""
    i, j = METRICS.index(metric), METRICS.index(target)
    of_means = taus(profiles.means[i, :, :-1].T, profiles.means[j, :, -1])
    draws = np.moveaxis(profiles.draws[:, i, :, :-1], 1, 2)
    return of_means, taus(draws, profiles.draws[:, j, None, :, -1])


def taus(a: Floats, b: Floats) -> Floats:
    """Kendall's tau along the last axis; tied pairs count for neither side."""
    i, j = np.triu_indices(a.shape[-1], 1)
    tau: Floats = (np.sign(a[..., i] - a[..., j]) * np.sign(b[..., i] - b[..., j])).mean(axis=-1)
    return tau


def stable_from(best: npt.NDArray[np.generic]) -> int:
    """The first index after which all values equal the last one."""
    differs = np.flatnonzero(best != best[-1])
    return int(differs[-1]) + 1 if len(differs) else 0
