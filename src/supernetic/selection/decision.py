"""Which model to take, from how little data that could be known, how sure it is, and what more data would be worth.

Paper: ours, on the measures of "Small Data, Big Decisions". A difference is significant if its 95 % interval over seeds
and images excludes 0; with one seed nothing is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from ..arrays import Floats
from .agreement import stable_from
from .curve import MIN_CURVE_SIZES, Curve, fit_curve
from .mdl import description_length
from .profiles import Profiles, interval
from .scores import METRICS

DATA_FACTORS = (2, 4)  # times the data, for which curves are extrapolated
BIT = log(2)  # nats
LOWER_TAIL = 0.025  # of a 95 % interval


@dataclass(frozen=True)
class Rival:
    """Another model's calibrated cross-entropy at the largest size minus the chosen one's, in nats."""

    model: str
    difference: float
    low: float
    high: float
    significant: bool  # the chosen one is better, and not by chance alone


@dataclass(frozen=True)
class Worth:
    """What so many times the data would be worth to a model, by its curve: calibrated cross-entropy in nats."""

    model: str
    times: float
    size: int
    value: float
    low: float
    high: float
    gain: float  # over the largest size, by the curve
    gain_low: float
    gain_high: float
    best: float  # the share of draws in which it is the best model then


@dataclass(frozen=True)
class Check:
    """What a curve through all sizes but the largest predicts for it."""

    model: str
    value: float
    low: float
    high: float
    true: float

    @property
    def held(self) -> bool:
        """Whether the truth was in the interval."""
        return self.low <= self.true <= self.high


@dataclass(frozen=True)
class Length:
    """A model's prequential description length of the labels, in nats."""

    model: str
    total: float
    low: float
    high: float
    labels: int


@dataclass(frozen=True)
class Decision:
    """Which model to take, and how sure that is."""

    model: str
    sure: float  # the share of draws in which it is the best
    rivals: tuple[Rival, ...]  # from near to far
    stable_from: int  # images from which on it has the lowest calibrated cross-entropy at every size
    significant_from: int | None  # images from which on it is significantly better than all others
    stable_by_error: int  # images from which on the error rate has one best model,
    best_by_error: str  # which is this
    worth: tuple[Worth, ...]
    checks: tuple[Check, ...]
    lengths: tuple[Length, ...]  # from short to long

    @property
    def open(self) -> tuple[str, ...]:
        """Models that are not significantly worse."""
        return tuple(r.model for r in self.rivals if not r.significant)


def decide(profiles: Profiles) -> Decision:
    """Decide by calibrated cross-entropy at the largest size.

    Args:
        profiles: Scores of all models at all sizes.

    Returns:
        The decision, with what it rests on.
    """
    means, draws = profiles.means[0], profiles.draws[:, 0]
    chosen = int(means[:, -1].argmin())
    leads = draws - draws[:, chosen, None]  # of the chosen one over each, by size
    rivals = []
    for m in np.argsort(means[:, -1], kind="stable"):
        if m != chosen:
            low, high = interval(leads[:, m, -1])
            value = float(means[m, -1] - means[chosen, -1])
            rivals.append(Rival(profiles.models[m], value, low, high, profiles.repeated and low > 0))
    others = [m for m in range(len(means)) if m != chosen]
    lows = np.quantile(leads[:, others], LOWER_TAIL, axis=0).T
    ahead = np.array([profiles.repeated and bool((low > 0).all()) for low in lows])
    first = stable_from(ahead) if others and ahead[-1] else None
    by_error = profiles.means[METRICS.index("error")].argmin(axis=0)
    worth, checks = _curves(profiles)
    return Decision(
        model=profiles.models[chosen],
        sure=float((draws[:, :, -1].argmin(axis=1) == chosen).mean()),
        rivals=tuple(rivals),
        stable_from=profiles.sizes[stable_from(means.argmin(axis=0))],
        significant_from=None if first is None else profiles.sizes[first],
        stable_by_error=profiles.sizes[stable_from(by_error)],
        best_by_error=profiles.models[by_error[-1]],
        worth=worth,
        checks=checks,
        lengths=_lengths(profiles),
    )


def _lengths(profiles: Profiles) -> tuple[Length, ...]:
    totals = description_length(profiles.sizes, profiles.means[0], profiles.classes)
    drawn = description_length(profiles.sizes, profiles.draws[:, 0], profiles.classes)
    lengths = [
        Length(m, float(totals[i]), *interval(drawn[:, i]), profiles.sizes[-1]) for i, m in enumerate(profiles.models)
    ]
    return tuple(sorted(lengths, key=lambda length: length.total))


def _curves(profiles: Profiles) -> tuple[tuple[Worth, ...], tuple[Check, ...]]:
    """Of all models; nothing where the sizes are too few for a curve."""
    means, draws, sizes = profiles.means[0], profiles.draws[:, 0], profiles.sizes
    if len(sizes) < MIN_CURVE_SIZES:
        return (), ()
    point, drawn = curves(sizes, means, draws)
    now = point(sizes[-1]), drawn(sizes[-1])
    worth = []
    for times in DATA_FACTORS:
        size = times * sizes[-1]
        value, values = point(size), drawn(size)
        best = values.argmin(axis=1)
        for m, name in enumerate(profiles.models):
            gain = interval(now[1][:, m] - values[:, m])
            worth.append(
                Worth(
                    name, times, size, float(value[m]), *interval(values[:, m]),
                    float(now[0][m] - value[m]), *gain, float((best == m).mean()),
                )
            )  # fmt: skip
    checks = []
    if len(sizes) > MIN_CURVE_SIZES:
        point, drawn = curves(sizes[:-1], means[:, :-1], draws[..., :-1])
        value, values = point(sizes[-1]), drawn(sizes[-1])
        for m, name in enumerate(profiles.models):
            checks.append(Check(name, float(value[m]), *interval(values[:, m]), float(means[m, -1])))
    return tuple(worth), tuple(checks)


def curves(sizes: Sequence[int], means: Floats, draws: Floats) -> tuple[Curve, Curve]:
    """Of each model, and of each draw of each model; a size weighs by how certain its scores are."""
    weights = 1 / draws.var(axis=0).mean(axis=0).clip(min=1e-12)
    return fit_curve(sizes, means, weights), fit_curve(sizes, draws, weights)
