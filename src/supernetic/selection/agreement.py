"""How early the ranking of models is what it will be: at each rung, against the largest one.

Paper: "Small Data, Big Decisions" (000), section 2, which compares rankings by cross-entropy and by error rate;
Kendall's tau as in paper 002. Intervals are over draws of seeds and images, for the models at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .profiles import Floats, Profiles, interval
from .scores import METRICS


@dataclass(frozen=True)
class Agreement:
    """The ranking by a metric at a size, against the one by `target` at the largest size."""

    metric: str
    target: str
    size: int
    tau: float
    low: float
    high: float
    top: bool  # whether both have the same best model
    sure: float  # in which share of draws they have


@dataclass(frozen=True)
class Contest:
    """By how much tau of calibrated cross-entropy exceeds that of the error rate, on average over the smaller rungs."""

    target: str  # "own": each against its own last ranking; else the metric whose last ranking both are held against
    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether calibrated cross-entropy is shown to be closer."""
        return "closer" if self.low > 0 else "farther" if self.high < 0 else "not shown"


def agreements(profiles: Profiles) -> list[Agreement]:
    """For every metric and rung below the largest: against its own last ranking, and against that by error rate."""
    found = []
    for metric in METRICS:
        for target in dict.fromkeys((metric, "error")):
            taus, drawn = _taus(profiles, metric, target)
            i, j = METRICS.index(metric), METRICS.index(target)
            for k, size in enumerate(profiles.sizes[:-1]):
                low, high = interval(drawn[:, k])
                top = profiles.means[i, :, k].argmin() == profiles.means[j, :, -1].argmin()
                same = profiles.draws[:, i, :, k].argmin(axis=1) == profiles.draws[:, j, :, -1].argmin(axis=1)
                tau = float(taus[k])
                found.append(
                    Agreement(metric, target, size, tau, min(low, tau), max(high, tau), bool(top), float(same.mean()))
                )
    return found


def contests(profiles: Profiles) -> list[Contest]:
    """Calibrated cross-entropy against error rate; nothing is said of one rung."""
    if len(profiles.sizes) < 2:
        return []
    found = []
    for target in ("own", "error", "calibrated_cross_entropy"):
        ours, drawn = _taus(profiles, METRICS[0], METRICS[0] if target == "own" else target)
        theirs, other = _taus(profiles, "error", "error" if target == "own" else target)
        low, high = interval((drawn - other).mean(axis=1))
        found.append(Contest(target, float((ours - theirs).mean()), low, high))
    return found


def _taus(profiles: Profiles, metric: str, target: str) -> tuple[Floats, Floats]:
    """Tau at each rung below the largest, of the means and of the draws."""
    i, j = METRICS.index(metric), METRICS.index(target)
    known = taus(profiles.means[i, :, :-1].T, profiles.means[j, :, -1])
    drawn = np.moveaxis(profiles.draws[:, i, :, :-1], 1, 2)
    return known, taus(drawn, profiles.draws[:, j, None, :, -1])


def taus(a: Floats, b: Floats) -> Floats:
    """Kendall's tau (tied pairs count for neither side) along the last axis."""
    i, j = np.triu_indices(a.shape[-1], 1)
    found: Floats = (np.sign(a[..., i] - a[..., j]) * np.sign(b[..., i] - b[..., j])).mean(axis=-1)
    return found


def stable_from(best: npt.NDArray[np.generic]) -> int:
    """The first place from which on all are equal to the last one."""
    differs = np.flatnonzero(best != best[-1])
    return int(differs[-1]) + 1 if len(differs) else 0
