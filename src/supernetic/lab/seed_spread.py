"""Means over a few seeds, with intervals that use the noise of all variants together.

Paper: ours. Two or three seeds of one variant say next to nothing about their spread, but all variants of a study
together do. The model is value = variant + seed + noise, with one noise for all variants. With two variants this is the
paired t interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, nan, sqrt

import numpy as np

from ..arrays import Floats

Values = Mapping[str, Mapping[int, float]]  # of one metric, by variant and seed


@dataclass(frozen=True)
class Spread:
    """The mean over seeds, their standard deviation (NaN for one seed), and the 95 % interval of the mean."""

    n: int  # seeds
    mean: float
    sd: float
    low: float
    high: float


@dataclass(frozen=True)
class Contrast:
    """A difference of means over the same seeds, and its 95 % interval (NaN for one seed)."""

    n: int  # seeds
    value: float
    low: float
    high: float


def spread(values: Values, variant: str) -> Spread:
    """The mean of one variant; its interval is based on the noise within all variants."""
    own = _finite(values.get(variant, {}))
    if not own:
        return Spread(0, nan, nan, nan, nan)
    mean = float(np.mean([*own.values()]))
    sd = float(np.std([*own.values()], ddof=1)) if len(own) > 1 else nan
    groups = [[*_finite(v).values()] for v in values.values()]
    freedom = sum(len(g) - 1 for g in groups if g)
    squares = sum(float(np.var(g)) * len(g) for g in groups if g)
    reach = _reach(squares, freedom, 1 / len(own))
    return Spread(len(own), mean, sd, mean - reach, mean + reach)


def contrast(values: Values, variant: str, other: str) -> Contrast:
    """The difference `variant` minus `other`, over the seeds that both have."""
    a, b = _finite(values.get(variant, {})), _finite(values.get(other, {}))
    seeds = sorted(a.keys() & b.keys())
    if not seeds:
        return Contrast(0, nan, nan, nan)
    value = float(np.mean([a[s] - b[s] for s in seeds]))
    rows = [[_finite(v).get(s, nan) for s in seeds] for v in values.values()]
    grid: Floats = np.array([r for r in rows if all(map(isfinite, r))])
    rest = grid - grid.mean(axis=0) - grid.mean(axis=1, keepdims=True) + grid.mean()
    freedom = (grid.shape[0] - 1) * (grid.shape[1] - 1)
    reach = _reach(float((rest**2).sum()), freedom, 2 / len(seeds))
    return Contrast(len(seeds), value, value - reach, value + reach)


def _reach(squares: float, freedom: int, factor: float) -> float:
    """Half the width of a 95 % interval; NaN if the noise cannot be estimated."""
    if freedom < 1:
        return nan
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975)) * sqrt(squares / freedom * factor)


def _finite(values: Mapping[int, float]) -> dict[int, float]:
    return {s: v for s, v in values.items() if isfinite(v)}
