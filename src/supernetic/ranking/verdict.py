"""Whether a search may be trusted: does the score order networks as training does, and do the chosen beat controls?

Paper: ours. Nothing counts as shown unless its 95 % interval excludes 0. The interval of a comparison is over test
images: two trainings of the same network differ too, and with one seed each that spread is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from .correlation import Z95, Interval, count_pairs

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau between a score and the truth over `n` networks; null where it is undefined."""

    score: str
    truth: str
    n: int
    value: float | None
    low: float | None
    high: float | None
    alike: bool = False  # all networks have the same score, or the same truth

    @property
    def shown(self) -> bool:
        """Whether the interval excludes 0 on the good side, and chance alone would hardly give so large a tau.

        Intervals of a handful of networks are too narrow; how far tau strays by chance is known exactly.
        """
        if self.low is None or self.value is None:
            return False
        by_chance = sqrt(2 * (2 * self.n + 5) / (9 * self.n * (self.n - 1)))  # standard deviation
        return self.low > 0 and self.value > Z95 * by_chance

    def sentence(self) -> str:
        """In words."""
        if self.alike:
            return f"Whether {self.score} orders networks as {self.truth} does is not shown: all {self.n} are alike."
        if self.value is None or self.low is None or self.high is None:
            return f"Whether {self.score} orders networks as {self.truth} does is not shown: n = {self.n} is too small."
        numbers = f"tau {self.value:+.2f} [{self.low:+.2f}, {self.high:+.2f}], n = {self.n}"
        if self.shown:
            return f"{self.score} orders networks as {self.truth} does: {numbers}."
        if self.high < 0:
            return f"{self.score} orders networks against {self.truth}: {numbers}. The ranking must not be trusted."
        return f"That {self.score} orders networks as {self.truth} does is not shown, n is too small: {numbers}."

    def to_json(self) -> dict[str, Any]:
        """For a run's record."""
        return {**asdict(self), "shown": self.shown}


def agreement(score: str, truth: str, x: Sequence[float], y: Sequence[float]) -> Agreement:
    """Tau of `x` (more is better) with `y`; what is not finite is left out."""
    both = np.array([(a, b) for a, b in zip(x, y, strict=True) if isfinite(a) and isfinite(b)], dtype=np.float64)
    if len(both) < 3:
        return Agreement(score, truth, len(both), None, None, None)
    if (np.ptp(both, axis=0) == 0).any():
        return Agreement(score, truth, len(both), None, None, None, alike=True)
    pairs = count_pairs(both[:, 0], both[:, 1])
    value, low, high = (float(v) if isfinite(v) else None for v in (pairs.tau(), *pairs.interval()))
    return Agreement(score, truth, len(both), value, low, high)


@dataclass(frozen=True)
class Comparison:
    """A chosen model against a control: the difference of test accuracies in points, and its interval."""

    model: str
    control: str
    role: str  # of the control
    difference: float
    low: float
    high: float

    @property
    def shown(self) -> bool:
        """Whether the interval excludes 0, on either side."""
        return self.low > 0 or self.high < 0

    @property
    def won(self) -> bool:
        """Whether the model is shown to be better."""
        return self.low > 0

    def sentence(self) -> str:
        """In words."""
        numbers = f"{self.difference:+.2f} points [{self.low:+.2f}, {self.high:+.2f}]"
        if self.won:
            return f"{self.model} beats {self.control}: {numbers}."
        if self.shown:
            return f"{self.model} loses to {self.control}: {numbers}."
        return f"{self.model} against {self.control}: no difference is shown, {numbers}."

    def to_json(self) -> dict[str, Any]:
        """For a run's record."""
        return {**asdict(self), "shown": self.shown}


def compare(model: str, control: str, role: str, mine: Bools, theirs: Bools) -> Comparison:
    """By which test images each gets right."""
    low, high = paired_interval(mine, theirs)
    difference = 100 * float(mine.mean() - theirs.mean())
    return Comparison(model, control, role, difference, 100 * low, 100 * high)


def paired_interval(a: Bools, b: Bools) -> Interval:
    """95 % interval of the difference of two shares over the same images (Agresti and Min: half an image per cell)."""
    n = len(a) + 2
    only_a, only_b = float((a & ~b).sum()) + 0.5, float((b & ~a).sum()) + 0.5
    centre = (only_a - only_b) / n
    reach = Z95 * sqrt(max(only_a + only_b - (only_a - only_b) ** 2 / n, 0)) / n
    return max(-1.0, centre - reach), min(1.0, centre + reach)
