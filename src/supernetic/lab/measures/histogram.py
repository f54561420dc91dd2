"""Measure `histogram`: the distribution of the scores of random networks, and the loss curve of the training.

Paper: SCARLET-NAS, figure 3: 1,024 random networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...jobs.train.supernet_run import TASK
from ...runs.directory import read_records
from ...runs.files import METRICS
from ...space import Space
from .measure import Measured, Report, trained_space
from .scored import Scored

MAX_CURVE_POINTS = 200


@dataclass(frozen=True)
class Histogram(Scored):
    """Mean, standard deviation and range of the scores; the training loss at the end and half-way."""

    @property
    def shown(self) -> tuple[str, ...]:
        """All metrics."""
        return ("mean", "sd", "lowest", "highest", "loss", "loss half-way")

    def check(self, space: Space) -> list[str]:
        """Any space can be measured."""
        return [*self.shown]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Score random networks, and read the loss curve from the run."""
        scores = self.scores(run, self.networks(trained_space(run)), report)
        finite = scores[np.isfinite(scores)]
        curve = [(r["step"], r["loss"]) for r in read_records(run / METRICS) if r["task"] == TASK]
        half = next(loss for step, loss in curve if step >= curve[-1][0] / 2)
        numbers = (finite.mean(), finite.std(ddof=1), finite.min(), finite.max(), curve[-1][1], half)
        values = {name: float(v) for name, v in zip(self.shown, numbers, strict=True)}
        every = -(-len(curve) // MAX_CURVE_POINTS)
        return Measured(values, {"scores": finite.round(4).tolist(), "curve": [list(p) for p in curve[::every]]})
