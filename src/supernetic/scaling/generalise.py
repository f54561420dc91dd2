"""Strategies beyond the largest searched stage: curves through depth, width and resolution, extrapolated.

Paper: "ScaleNet", appendix C: linear and squared functions through 1 at stage 0, least squares over the searched stages
with a0 > 0; Table 3.
Differences: the paper's own function (equation 8 of its main text) is not available to us. No family here reproduces
stages 4 and 5 of Table 3 from stages 1 to 3; the nearest is a^j, EfficientNet's, which is the default. Families are
compared by their error at a stage that was left out of the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan, sqrt

import numpy as np
import numpy.typing as npt

from ..errors import InputError, UnknownNameError

Floats = npt.NDArray[np.float64]

DIMENSIONS = ("depth", "width", "resolution")
# Table 3: searched (0 to 3) and generalised (4, 5) factors of depth, width and resolution. The blocks of the base
# model that they belong to, ScaleNet-S0, are drawn in the paper but not printed.
TABLE_3 = (
    (1.000, 1.000, 1.000),
    (1.080, 1.040, 1.140),
    (1.360, 1.200, 1.355),
    (1.480, 1.400, 1.580),
    (1.653, 1.534, 2.042),
    (1.848, 1.688, 2.378),
)
LAST_SEARCHED_STAGE = 3  # the largest stage of Table 3 that was searched


@dataclass(frozen=True)
class Family:
    """A family of curves: a function of the stage with one or two parameters, the first of which is positive."""

    formula: str
    value: Callable[[Floats, Floats], Floats]  # (stages, parameters)
    start: tuple[float, ...]  # where the fit begins
    anchored: bool = True  # passes through 1 at stage 0
    low: tuple[float, ...] = ()  # least values of the parameters; () for 0 for the first, none for the second

    @property
    def bounds(self) -> tuple[list[float], list[float]]:
        """Least and greatest values of the parameters."""
        low = self.low or (1e-9, *[-inf] * (len(self.start) - 1))
        return list(low), [inf] * len(self.start)


def _lifted(k: float) -> Family:
    return Family(f"1 + {k:g} (a^j - 1)", lambda j, a: 1 + k * ((1 + a[0]) ** j - 1), (0.1,))


FAMILIES: Mapping[str, Family] = {
    "exponential": Family("a^j", lambda j, a: (1 + a[0]) ** j, (0.1,)),
    "linear": Family("1 + a j", lambda j, a: 1 + a[0] * j, (0.1,)),
    "squared": Family("1 + a j^2 + b j", lambda j, a: 1 + a[0] * j**2 + a[1] * j, (0.01, 0.1)),
    # in terms of its slope at 0, a b, and of b: as b vanishes it becomes a line, where a alone has no limit
    "growth": Family(
        "1 + a (e^(b j) - 1)", lambda j, a: 1 + a[0] * np.expm1(a[1] * j) / a[1], (0.1, 0.2), low=(1e-9, 1e-6)
    ),
    "power": Family("1 + a j^b", lambda j, a: 1 + a[0] * j ** a[1], (0.1, 1.0), low=(1e-9, 0.0)),
    "stretched": Family("exp(a j^b)", lambda j, a: np.exp(a[0] * j ** a[1]), (0.1, 1.0), low=(1e-9, 0.0)),
    "half": _lifted(0.5),
    "one-and-a-half": _lifted(1.5),
    "double": _lifted(2),
    "line": Family("a j + b", lambda j, a: a[0] * j + a[1], (0.1, 1.0), anchored=False),
    "free-exponential": Family(
        "b a^j", lambda j, a: a[1] * (1 + a[0]) ** j, (0.1, 1.0), anchored=False, low=(1e-9, 0.0)
    ),
}
DEFAULT_FAMILY = "exponential"
FIT_TOLERANCE = 1e-14
MAX_FIT_EVALUATIONS = 999


@dataclass(frozen=True)
class Curve:
    """One family, fitted to one dimension."""

    family: str
    parameters: tuple[float, ...]
    residual: float  # root mean square over the stages it was fitted to

    def __call__(self, stage: float) -> float:
        """Return the factor at a stage; 1 at stage 0, which is the base model."""
        if stage == 0:
            return 1.0
        return float(FAMILIES[self.family].value(np.array([float(stage)]), np.array(self.parameters))[0])


@dataclass(frozen=True)
class Growth:
    """Curves for depth, width and resolution."""

    curves: tuple[Curve, Curve, Curve]
    left_out: float  # relative error (root mean square) at a stage left out of the fit; NaN if too few remain

    @property
    def family(self) -> str:
        """Name of the family of all three curves."""
        return self.curves[0].family

    def __call__(self, stage: float) -> tuple[float, float, float]:
        """Return the factors of depth, width and resolution at a stage."""
        d, w, r = (curve(stage) for curve in self.curves)
        return d, w, r


def fit(family: str, values: Sequence[float], stages: Sequence[int] | None = None) -> Curve:
    """Fit a curve to the factors of one dimension by least squares.

    Args:
        family: A key of `FAMILIES`.
        values: The factors.
        stages: Their stages; None for 1, 2, ...
    """
    if family not in FAMILIES:
        raise UnknownNameError("family of curves", family, FAMILIES)
    from scipy.optimize import least_squares

    curve, j = FAMILIES[family], np.array(stages or range(1, len(values) + 1), dtype=float)
    y = np.array(values, dtype=float)
    if len(y) != len(j) or not np.isfinite(y).all() or (y <= 0).any():
        raise InputError(f"a fit needs a positive factor for each of {len(j)} stages, got {list(values)}")
    if len(y) < len(curve.start):
        raise InputError(f"a fit of {curve.formula} needs at least {len(curve.start)} stages, got {len(y)}")

    def residuals(parameters: Floats) -> Floats:
        return np.asarray(curve.value(j, parameters) - y)

    best = least_squares(
        residuals,
        curve.start,
        bounds=curve.bounds,
        xtol=FIT_TOLERANCE,
        ftol=FIT_TOLERANCE,
        gtol=FIT_TOLERANCE,
        max_nfev=MAX_FIT_EVALUATIONS,
    )
    return Curve(family, tuple(map(float, best.x)), sqrt(float(np.mean(best.fun**2))))


def generalise(strategies: Sequence[Sequence[float]], family: str = DEFAULT_FAMILY) -> Growth:
    """Fit a curve of one family to each dimension of the strategies.

    Args:
        strategies: (depth, width, resolution) as factors, of stages 1, 2, ...
        family: A key of `FAMILIES`.
    """
    columns = _columns(strategies)
    d, w, r = (fit(family, column) for column in columns)
    return Growth((d, w, r), left_out_error(strategies, family))


def compare(strategies: Sequence[Sequence[float]]) -> list[Growth]:
    """Fit all families that the number of stages allows; the least error at a left-out stage comes first."""
    fitted = [generalise(strategies, name) for name, f in FAMILIES.items() if len(f.start) <= len(strategies)]
    return sorted(fitted, key=lambda g: (not isfinite(g.left_out), g.left_out if isfinite(g.left_out) else 0.0))


def left_out_error(strategies: Sequence[Sequence[float]], family: str) -> float:
    """Predict each stage in turn from the others; return the relative error, root mean square over all dimensions."""
    stages = list(range(1, len(strategies) + 1))
    if len(stages) - 1 < len(FAMILIES[family].start):
        return nan
    errors = []
    for column in _columns(strategies):
        for j, truth in zip(stages, column, strict=True):
            others = [k for k in stages if k != j]
            errors.append(fit(family, [column[k - 1] for k in others], others)(j) / truth - 1)
    return sqrt(float(np.mean(np.square(errors))))


def table_3_error(family: str) -> float:
    """Fit a family to stages 1 to 3 of Table 3; return the relative error (root mean square) at stages 4 and 5."""
    growth = generalise(TABLE_3[1 : LAST_SEARCHED_STAGE + 1], family)
    errors = [
        predicted / truth - 1
        for j, row in enumerate(TABLE_3[LAST_SEARCHED_STAGE + 1 :], LAST_SEARCHED_STAGE + 1)
        for predicted, truth in zip(growth(j), row, strict=True)
    ]
    return sqrt(float(np.mean(np.square(errors))))


def _columns(strategies: Sequence[Sequence[float]]) -> list[list[float]]:
    if not strategies or any(len(s) != len(DIMENSIONS) for s in strategies):
        raise InputError(f"a strategy must have the factors {', '.join(DIMENSIONS)}, got {list(strategies)}")
    return [[float(s[i]) for s in strategies] for i in range(len(DIMENSIONS))]
