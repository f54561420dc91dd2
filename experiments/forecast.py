"""How well the race of a search forecasts errors: measured learning curves against `later_error`.

    python experiments/forecast.py

The curves are validation errors on CIFAR-10 (5,000 images, one seed). Four are of `experiments/prospects.py`, two are
the finalists of a search of 20 minutes, one is the winner of another. The two numbers of the forecast, its steepness
and how fast that falls, were rounded from a fit to these same seven curves: this says how well such a line can fit, not
how well it predicts others. Two rules that were used before are compared. Both took the steepness from the network's
own curve in the race. The second was fitted to the first six curves; its forecast of the seventh is 2.4 points wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from record import Record

from supernetic.jobs.search.race import FLATTENING, STEEPNESS, later_error


@dataclass(frozen=True)
class Curve:
    """Seconds of one processor and errors in percent: after the first round, after the race, and at the end."""

    network: str
    first: tuple[float, float]
    race: tuple[float, float]
    end: tuple[float, float]
    epochs: float  # of training, after the race

    @property
    def growth(self) -> float:
        """How many times as long as the race the whole training is."""
        return self.end[0] / self.race[0]

    def steepness(self, begin: tuple[float, float], end: tuple[float, float]) -> float:
        """How steep the error falls between two points, on logarithmic scales."""
        return log(begin[1] / end[1]) / log(end[0] / begin[0])

    def middle(self) -> float:
        """Logarithm of the epochs half-way between the race and the end."""
        return log(self.epochs * sqrt(self.growth))

    def by_own_steepness(self, factor: float) -> float:
        """The error at the end, if the curve goes on this many times as steep as it was in the race."""
        return self.race[1] * float(self.growth ** (-factor * self.steepness(self.first, self.race)))


CURVES = (
    Curve("ResNet", (20, 39.0), (108, 24.6), (408, 17.3), 7.1),
    Curve("s2-r0.5x1-r0.75x1-m1.25x3", (20, 43.2), (108, 26.5), (408, 17.9), 5.8),
    Curve("s2-m0.75x3-m0.75x3-m0.5x3", (20, 52.5), (108, 32.2), (408, 17.7), 2.9),
    Curve("macro 11112211, 6 channels", (20, 55.8), (108, 34.3), (408, 19.0), 2.2),
    Curve("s2-p0.875x2-p1.0x2-p0.875x2", (15.8, 40.0), (97.0, 22.4), (878.0, 14.68), 7.4),
    Curve("n1-m1.25x2-m0.5x1-p1.0x2", (14.0, 52.3), (95.7, 29.76), (874.1, 15.42), 2.7),
    # trained to the end by two processes: seconds that one would have needed for as many steps
    Curve("n1-r0.5x3-p1.0x3-p0.5x3", (19.0, 46.88), (95.0, 26.44), (1351.0, 15.78), 5.1),
)
RULES: dict[str, Callable[[Curve], float]] = {
    "forecast": lambda c: later_error(c.race[1], c.epochs, c.growth),
    "half as steep": lambda c: c.by_own_steepness(0.5),
    "own steepness, by epochs": lambda c: c.by_own_steepness(min(1.5, max(0.2, 2.2 - 0.5 * c.middle()))),
}


def main() -> None:
    """Write the record."""
    lines = np.array([[1.0, c.middle()] for c in CURVES])
    fit = np.linalg.lstsq(lines, np.array([c.steepness(c.race, c.end) for c in CURVES]), rcond=None)[0]
    rows: list[dict[str, str | float]] = [
        {"network": c.network, "error": c.end[1], **{name: round(rule(c), 2) for name, rule in RULES.items()}}
        for c in CURVES
    ]
    distances = {
        name: round(float(np.mean([abs(float(r[name]) - float(r["error"])) for r in rows])), 2) for name in RULES
    }
    now, *before = distances.values()
    Record(
        "forecast",
        "the error at the end of a training can be told from its first minute and a half, also for slow networks",
        "ours",
        "forecasts nearer to the errors than with the rules before, which went by how steep a network's own curve was",
        {
            "curves": rows,
            "mean_distance": distances,
            "fit": [round(float(x), 3) for x in fit],
            "used": [STEEPNESS, -FLATTENING],
        },
        n=len(CURVES),
        held=now < min(before),
        sentence=f"Mean distance of forecasts: {now:.2f} points; by rules before {before[0]:.2f} and {before[1]:.2f}.",
        interval=[],
        spread="none: the line was fitted to these curves",
        seeds=[0],
        scale="CIFAR-10, 42,500 training images, at most 3.1 M MACs, 400 to 1,350 seconds on one processor",
        cpu_minutes=80.0,
    ).write()
    for row in rows:
        print(row)
    print(f"fit {fit.round(3)}; mean distances {distances}")


if __name__ == "__main__":
    main()
