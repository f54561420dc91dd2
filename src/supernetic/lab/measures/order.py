"""Measure `order`: do networks with more MACs score higher, as they would after training?

Paper: ScaleNet, appendix B: Pearson, Spearman and its own tau over 6,000 random paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...costs import costs_of
from ...ranking.correlation import count_pairs, pearson, spearman
from ...space import Space
from .measure import Measured, Report, trained_space
from .scored import Scored


@dataclass(frozen=True)
class Order(Scored):
    """Correlations of the score with MACs, and the mean score, which says whether there is anything to order."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The three of the paper, a tau that can be negative, and the mean score."""
        return ("pearson", "spearman", "tau_scalenet", "tau", "mean")

    def check(self, space: Space) -> list[str]:
        """Any space can be measured."""
        return [*self.shown]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Correlate scores with MACs over random networks of the space."""
        networks = trained_space(run)
        archs = self.networks(networks)
        scores, macs = self.scores(run, archs, report), costs_of(networks, archs).astype(np.float64)
        x, y = scores[np.isfinite(scores)], macs[np.isfinite(scores)]
        pairs = count_pairs(x, y)
        numbers = (pearson(x, y), spearman(x, y), pairs.tau_scalenet(), pairs.tau(), float(x.mean()))
        return Measured(dict(zip(self.shown, numbers, strict=True)), {"networks": len(x)})
