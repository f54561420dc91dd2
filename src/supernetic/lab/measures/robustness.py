"""Measure `robustness`: do supernets of other seeds, and earlier ones, order the same networks alike?

Paper: AttentiveNAS (001), appendix B, figure 7. Early is the first of a training's `snapshots`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np

from ...ranking.robustness import robustness, subnets
from ...space import Space
from .measure import Measured, Report, trained_space
from .scored import Scored

EARLY, LATE = 0, 1


@dataclass(frozen=True)
class Robustness(Scored):
    """Kendall's tau between early and late, and (its mean) between seeds."""

    @property
    def shown(self) -> tuple[str, ...]:
        """All of them."""
        return ("early and late", "between seeds, early", "between seeds, late")

    def check(self, space: Space) -> list[str]:
        """Any space will do."""
        return [*self.shown]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Scores at the first snapshot, if there is one, and at the end."""
        from ...training.checkpoint import snapshots

        archs = subnets(trained_space(run), n=self.n)
        found = {LATE: self.scores(run, archs, report)}
        if steps := sorted(snapshots(run)):
            found[EARLY] = self.scores(run, archs, report, steps[0])
        known = np.isfinite([*found.values()]).all(axis=0)
        alike = robustness({(0, when): v[known] for when, v in found.items()}).early_and_late if steps else ()
        details = {str(when): [float(s) if np.isfinite(s) else None for s in v] for when, v in found.items()}
        return Measured({"early and late": alike[0].tau if alike else nan}, {"scores": details})

    def pooled(self, seeds: Mapping[int, Measured]) -> dict[str, float]:
        """The mean tau over pairs of seeds."""
        means = {}
        for name, when in (("between seeds, early", EARLY), ("between seeds, late", LATE)):
            scores = {s: np.array(m.details["scores"].get(str(when), []), dtype=float) for s, m in seeds.items()}
            known = np.isfinite([*scores.values()]).all(axis=0)
            usable = len(seeds) > 1 and known.sum() > 1
            pairs = robustness({(s, when): v[known] for s, v in scores.items()}).between_seeds if usable else ()
            means[name] = float(np.mean([p.tau for p in pairs])) if pairs else nan
        return means
