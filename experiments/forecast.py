"""How well the race of a search forecasts errors: measured learning curves against `later_error`.

    python experiments/forecast.py

The curves are validation errors on CIFAR-10 (5,000 images, one seed), each after a schedule that has come to its end.
They are of two searches of 20 and 60 minutes, of `experiments/prospects.py`, and of networks that
`benchmarks/outcome.py` trained alone. The three numbers of the forecast are rounded from a fit to all pairs of points
of a curve. How well they foretell other networks is asked by leaving each network out of the fit in turn. The rule
before let curves get flatter with every epoch; it was fitted to later parts of seven of these curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from record import Record
from scipy.optimize import least_squares

from supernetic.jobs.search.forecast import FLAT_EPOCHS, SLOW_GAIN, STEEPNESS, later_error

LONG = 15.0  # epochs: pairs that end later are listed


@dataclass(frozen=True)
class Curve:
    """A network, its pace among the others of its day, and errors in percent by epochs."""

    network: str
    pace: float
    points: tuple[tuple[float, float], ...]


LARGEST, PLAIN, RESNET = "n1-m1.25x2-m0.5x1-p1.0x2", "plain stack", "ResNet"
CURVES = (
    # a search of an hour
    Curve(LARGEST, 0.44, ((1.117, 37.5), (3.096, 28.32), (6.975, 21.02), (118.371, 12.4))),
    Curve("s2-r0.875x1-r1.0x1-r0.875x1", 1.27, ((3.195, 27.1), (8.243, 21.06), (18.2, 18.02))),
    Curve(PLAIN, 1.25, ((3.138, 30.52), (8.394, 22.72), (18.995, 18.1))),
    Curve("n1-p0.875x2-p1.0x2-p0.5x3-h4", 1.11, ((2.786, 30.76), (11.918, 19.7))),
    Curve("n1-m0.5x3-m0.5x3-m0.75x3-h4", 0.45, ((1.132, 46.02), (3.283, 31.5), (7.415, 20.88))),
    Curve("n1-m0.75x2-m0.75x2-m0.875x2-h4", 0.44, ((1.108, 42.14), (2.967, 30.1), (7.231, 22.78))),
    Curve("s2-p0.875x2-p1.0x2-p0.875x2", 1.35, ((3.391, 29.88), (8.864, 22.1))),
    # a search of 20 minutes on the same day
    Curve("n1-m0.75x2-m0.75x2-m0.875x2-h4", 0.44, ((0.367, 58.34), (1.22, 45.1), (2.683, 32.98), (40.216, 13.52))),
    Curve("s2-p1.5x1-p1.5x1-p2.0x1", 1.84, ((1.533, 38.04), (3.954, 31.8), (7.59, 27.5))),
    Curve("n1-p0.75x1-m0.75x3-m0.875x3-h4", 0.44, ((0.367, 57.28), (1.717, 41.34))),
    Curve("s2-r0.875x1-r1.0x1-r0.875x1", 1.43, ((1.19, 40.5), (3.771, 27.74), (7.352, 22.84))),
    # prospects
    Curve(RESNET, 1.18, ((1.3, 39.0), (3.5, 31.0), (7.1, 24.6), (26.7, 17.3))),
    Curve("s2-r0.5x1-r0.75x1-m1.25x3", 1.0, ((1.1, 43.2), (2.8, 33.3), (5.8, 26.5), (21.8, 17.9))),
    Curve("s2-m0.75x3-m0.75x3-m0.5x3", 0.46, ((0.5, 52.5), (1.4, 41.0), (2.9, 32.2), (11.0, 17.7))),
    Curve("macro 11112211, 6 channels", 0.36, ((0.4, 55.8), (1.1, 44.2), (2.2, 34.3), (8.4, 19.0))),
    # controls of a search of 20 minutes, then trained alone for as long
    Curve(LARGEST, 0.57, ((0.6, 46.6), (1.71, 35.6), (52.6, 12.2))),
    Curve(RESNET, 1.14, ((1.2, 38.9), (119.7, 14.0))),
    Curve(PLAIN, 1.43, ((1.5, 38.2), (142.0, 14.5))),
    # finalists of earlier searches of 20 minutes
    Curve("s2-p0.875x2-p1.0x2-p0.875x2", 1.38, ((7.4, 22.4), (67.0, 14.68))),
    Curve(LARGEST, 0.52, ((2.7, 29.76), (24.7, 15.42))),
    Curve("n1-r0.5x3-p1.0x3-p0.5x3", 0.95, ((5.1, 26.44), (72.5, 15.78))),
)
Pair = tuple[Curve, tuple[float, float], tuple[float, float]]
PAIRS: tuple[Pair, ...] = tuple((c, a, b) for c in CURVES for i, a in enumerate(c.points) for b in c.points[i + 1 :])


def distances(pairs: Sequence[Pair], steepness: float, flat: float, slow_gain: float) -> list[float]:
    """Logarithms of the errors that came, less those of the forecasts."""
    return [
        log(b[1] / a[1]) + steepness * (1 - slow_gain * log(c.pace)) * log(min(b[0], flat) / min(a[0], flat))
        for c, a, b in pairs
    ]


def fitted(pairs: Sequence[Pair]) -> tuple[float, float, float]:
    """Steepness, epochs after which a curve is flat, and the gain of slow networks that suit the pairs best."""

    def wrong(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.array(distances(pairs, float(x[0]), exp(x[1]), float(x[2])))

    fits = [least_squares(wrong, (0.3, log(flat), 0.1)) for flat in (20, 40, 60)]
    best = min(fits, key=lambda fit: float(fit.cost)).x
    return float(best[0]), exp(best[1]), float(best[2])


def before(error: float, epochs: float, growth: float) -> float:
    """The rule before this one."""
    steepness = min(0.6, max(0.05, 0.7 - 0.17 * log(epochs * sqrt(growth))))
    return error * float(growth**-steepness)


def main() -> None:
    """Write the record."""
    fit = fitted(PAIRS)
    left_out = [
        x
        for name in {c.network for c in CURVES}
        for x in distances(
            [p for p in PAIRS if p[0].network == name], *fitted([p for p in PAIRS if p[0].network != name])
        )
    ]
    now = [log(b[1] / later_error(a[1], a[0], b[0] / a[0], c.pace)) for c, a, b in PAIRS]
    rule = [log(b[1] / before(a[1], a[0], b[0] / a[0])) for _, a, b in PAIRS]
    spreads = {
        "forecast": _spread(now),
        "forecast, each network left out of the fit": _spread(left_out),
        "the same for all paces": _spread(distances(PAIRS, STEEPNESS, FLAT_EPOCHS, 0.0)),
        "the rule before": _spread(rule),
    }
    rows: list[dict[str, Any]] = [
        {
            "network": c.network,
            "from": list(a),
            "to": list(b),
            "forecast": round(later_error(a[1], a[0], b[0] / a[0], c.pace), 1),
            "before": round(before(a[1], a[0], b[0] / a[0]), 1),
        }
        for c, a, b in PAIRS
        if b[0] > LONG
    ]
    Record(
        "forecast",
        "the error at the end of a training can be told from its first seconds, also for slow networks",
        "ours",
        "forecasts nearer to the errors than with the rule before, also of networks that were left out of the fit",
        {
            "spread": spreads,
            "fit": [round(x, 3) for x in fit],
            "used": [STEEPNESS, FLAT_EPOCHS, SLOW_GAIN],
            "long_trainings": rows,
        },
        n=len(PAIRS),
        held=spreads["forecast, each network left out of the fit"] < spreads["the rule before"],
        sentence="Root mean square of the logarithm of error over forecast: "
        + ", ".join(f"{name} {value:.3f}" for name, value in spreads.items())
        + ".",
        spread="over pairs of points of a curve; the three numbers were fitted to the same curves",
        seeds=[0],
        scale=f"CIFAR-10, 42,500 training images, at most 3.1 M MACs; {len({c.network for c in CURVES})} networks, "
        f"{len(CURVES)} curves, .4 to 142 epochs",
        cpu_minutes=108 + 34 + 33 + 31 + 11 + 80,  # two searches, three single trainings, the curves of before
    ).write()
    for row in rows:
        print(row)
    print(spreads, fit)


def _spread(logs: Sequence[float]) -> float:
    return round(float(np.sqrt(np.mean(np.square(logs)))), 3)


if __name__ == "__main__":
    main()
