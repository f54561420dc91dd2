"""Measure `histogram`: the distribution of the scores of random networks, and the loss curve of the training.

Paper: SCARLET-NAS, figure 3: 1,024 random networks, and training curves with their variance.
Differences: the curves are losses, the paper's are accuracies. The variance is that of single steps, each with other
paths and other images, around their mean over up to 50 steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
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
    """Mean, standard deviation and range of the scores; the training loss at the end and half-way, and its spread."""

    @property
    def shown(self) -> tuple[str, ...]:
        """All metrics."""
        return ("mean", "sd", "lowest", "highest", "loss", "loss half-way", "loss sd")

    def check(self, space: Space) -> list[str]:
        """Any space can be measured."""
        return [*self.shown]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Score random networks, and read the loss curve from the run."""
        scores = self.scores(run, self.networks(trained_space(run)), report)
        finite = scores[np.isfinite(scores)]
        records = [r for r in read_records(run / METRICS) if r["task"] == TASK]
        curve = [(r["step"], r["loss"], r.get("loss_sd", nan)) for r in records]
        late = [c for c in curve if c[0] >= curve[-1][0] / 2]
        spread = float(np.sqrt(np.mean(np.square([sd for *_, sd in late]))))
        numbers = (finite.mean(), finite.std(ddof=1), finite.min(), finite.max(), curve[-1][1], late[0][1], spread)
        values = {name: float(v) for name, v in zip(self.shown, numbers, strict=True)}
        every = -(-len(curve) // MAX_CURVE_POINTS)
        points = [[step, loss, sd if isfinite(sd) else None] for step, loss, sd in curve[::every]]
        return Measured(values, {"scores": finite.round(4).tolist(), "curve": points})
