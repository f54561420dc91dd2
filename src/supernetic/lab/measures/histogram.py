"""Measure `histogram`: how scores of random networks are spread, and how the training converged.

Paper: SCARLET-NAS (004), figure 3: 1,024 random networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...jobs.train.supernet_run import TASK
from ...ranking.robustness import subnets
from ...runs.directory import read_records
from ...space import Space
from .measure import Measured, Report, trained_space
from .scored import Scored

CURVE = 200  # points of a loss curve that are kept, at most


@dataclass(frozen=True)
class Histogram(Scored):
    """Mean, spread and ends of the scores; the training loss, at the end and half-way."""

    @property
    def shown(self) -> tuple[str, ...]:
        """All of them."""
        return ("mean", "sd", "lowest", "highest", "loss", "loss half-way")

    def check(self, space: Space) -> list[str]:
        """Any space will do."""
        return [*self.shown]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Scores, and the curve from the run's record."""
        scores = self.scores(run, subnets(trained_space(run), n=self.n), report)
        known = scores[np.isfinite(scores)]
        curve = [(r["step"], r["loss"]) for r in read_records(run / "metrics.jsonl") if r["task"] == TASK]
        half = next(loss for step, loss in curve if step >= curve[-1][0] / 2)
        numbers = (known.mean(), known.std(ddof=1), known.min(), known.max(), curve[-1][1], half)
        values = {name: float(v) for name, v in zip(self.shown, numbers, strict=True)}
        every = -(-len(curve) // CURVE)
        return Measured(values, {"scores": known.round(4).tolist(), "curve": [list(p) for p in curve[::every]]})
