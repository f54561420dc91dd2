"""Measure `robustness`: do supernets of different seeds and training stages rank networks in the same order?

Paper: AttentiveNAS, appendix B, figure 7. The early stage is the first of the `snapshots` of a training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np

from ...ranking.robustness import robustness
from ...space import Space
from .measure import Measured, Report, Scoring, trained_space
from .scored import Scored

EARLY_STAGE, LATE_STAGE = 0, 1


@dataclass(frozen=True)
class Robustness(Scored):
    """Kendall's tau between the early and the late stage, and its mean between seeds."""

    @property
    def shown(self) -> tuple[str, ...]:
        """All metrics."""
        return ("early and late", "between seeds, early", "between seeds, late")

    def check(self, space: Space) -> list[str]:
        """Any space can be measured."""
        return [*self.shown]

    def scorings(self, space: Space, run: Path | None = None) -> list[Scoring]:
        """All networks, by the supernet at the end and by the first snapshot."""
        from ...training.checkpoint import snapshots

        late = super().scorings(space, run)
        steps = sorted(snapshots(run))[:1] if run else []
        return late + [one._replace(how=self.how(step)) for step in steps for one in late]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Score random networks at the first snapshot, if there is one, and at the end."""
        from ...training.checkpoint import snapshots

        archs = self.networks(trained_space(run))
        scores = {LATE_STAGE: self.scores(run, archs, report)}
        if steps := sorted(snapshots(run)):
            scores[EARLY_STAGE] = self.scores(run, archs, report, steps[0])
        finite = np.isfinite([*scores.values()]).all(axis=0)
        pairs = robustness({(0, when): v[finite] for when, v in scores.items()}).early_and_late if steps else ()
        details = {str(when): [float(s) if np.isfinite(s) else None for s in v] for when, v in scores.items()}
        return Measured({"early and late": pairs[0].tau if pairs else nan}, {"scores": details})

    def pooled(self, seeds: Mapping[int, Measured]) -> dict[str, float]:
        """The mean tau over all pairs of seeds."""
        means = {}
        for name, when in (("between seeds, early", EARLY_STAGE), ("between seeds, late", LATE_STAGE)):
            scores = {s: np.array(m.details["scores"].get(str(when), []), dtype=float) for s, m in seeds.items()}
            finite = np.isfinite([*scores.values()]).all(axis=0)
            usable = len(seeds) > 1 and finite.sum() > 1
            pairs = robustness({(s, when): v[finite] for s, v in scores.items()}).between_seeds if usable else ()
            means[name] = float(np.mean([p.tau for p in pairs])) if pairs else nan
        return means
