"""Whether a search may be trusted: does the score order networks as training does, and do the chosen beat controls?

Paper: ours. A result is significant if its 95 % interval excludes 0. The interval of a comparison is over test images:
two trainings of the same network differ too, and with one seed each that spread is not in it. This module gives facts;
`sentences` puts them into words.
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
MIN_NETWORKS = 3  # for which a tau has an interval
MIN_EPOCHS = 2  # of training; what was trained for less may compare quite differently when trained to the end


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau between a score and the truth over `n` networks; null where it is undefined."""

    score: str
    truth: str
    n: int
    value: float | None
    low: float | None
    high: float | None
    constant: bool = False  # all networks have the same score, or the same truth

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0 on the good side, and chance alone would hardly give so large a tau.

        Intervals of a handful of networks are too narrow; how far tau strays by chance is known exactly.
        """
        if self.low is None or self.value is None:
            return False
        deviation_by_chance = sqrt(2 * (2 * self.n + 5) / (9 * self.n * (self.n - 1)))
        return self.low > 0 and self.value > Z95 * deviation_by_chance

    def to_json(self) -> dict[str, Any]:
        """All facts, for a run's record."""
        return {**asdict(self), "significant": self.significant}


def agreement(score: str, truth: str, x: Sequence[float], y: Sequence[float]) -> Agreement:
    """Correlate a score with the truth.

    Args:
        score: The score's name.
        truth: The truth's name.
        x: The score of each network, more for better.
        y: The truth of each network, more for better.

    Returns:
        Kendall's tau over the networks for which both are finite; undefined for fewer than three.
    """
    both = np.array([(a, b) for a, b in zip(x, y, strict=True) if isfinite(a) and isfinite(b)], dtype=np.float64)
    if len(both) < MIN_NETWORKS:
        return Agreement(score, truth, len(both), None, None, None)
    if (np.ptp(both, axis=0) == 0).any():
        return Agreement(score, truth, len(both), None, None, None, constant=True)
    pairs = count_pairs(both[:, 0], both[:, 1])
    value, low, high = (float(v) if isfinite(v) else None for v in (pairs.tau(), *pairs.interval()))
    return Agreement(score, truth, len(both), value, low, high)


@dataclass(frozen=True)
class Comparison:
    """A chosen model against a control: the difference of test accuracies in points, and its interval.

    `steps` and `epochs` say how long the model and the control were trained, `seconds` how long each of them, if that
    is what was equal. They are None where networks were not trained on their own.
    """

    model: str
    control: str
    role: str  # of the control
    difference: float
    low: float
    high: float
    steps: tuple[int, int] | None = None
    epochs: tuple[float, float] | None = None
    seconds: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0, on either side."""
        return self.low > 0 or self.high < 0

    @property
    def won(self) -> bool:
        """Whether the model is significantly better, after a training that is long enough to tell."""
        return self.low > 0 and not too_short(self.epochs)

    def to_json(self) -> dict[str, Any]:
        """All facts, for a run's record."""
        return {**asdict(self), "significant": self.significant}


def compare(model: str, control: str, role: str, mine: Bools, theirs: Bools) -> Comparison:
    """Compare two networks by the test images that each classifies correctly.

    Args:
        model: The chosen model's name.
        control: The control's name.
        role: The control's role.
        mine: For each test image, whether the model is right.
        theirs: The same for the control.

    Returns:
        The difference of the accuracies in points, with its 95 % interval.
    """
    low, high = paired_interval(mine, theirs)
    difference = 100 * float(mine.mean() - theirs.mean())
    return Comparison(model, control, role, difference, 100 * low, 100 * high)


def too_short(epochs: Sequence[float] | None) -> bool:
    """Whether a training was too short to tell how networks compare when they are trained to the end."""
    return epochs is not None and min(epochs) < MIN_EPOCHS


def paired_interval(a: Bools, b: Bools) -> Interval:
    """95 % interval of the difference of two shares over the same images (Agresti and Min: half an image per cell)."""
    n = len(a) + 2
    only_a, only_b = float((a & ~b).sum()) + 0.5, float((b & ~a).sum()) + 0.5
    centre = (only_a - only_b) / n
    reach = Z95 * sqrt(max(only_a + only_b - (only_a - only_b) ** 2 / n, 0)) / n
    return max(-1.0, centre - reach), min(1.0, centre + reach)
