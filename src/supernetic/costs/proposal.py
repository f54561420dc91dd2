"""AttentiveNAS's proposal: networks near a drawn budget from frequencies learned offline.

Paper: Wang et al., "AttentiveNAS", arXiv 2011.09011, section 4.2 and appendix C. A large table of uniform
draws is sorted into cost bins; inside a bin every choice is drawn on its own by its frequency there, and a draw is kept
when its true cost falls into the bin.
Differences: the released code keeps its 101st draw whatever it costs; here a draw outside the window is never kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..space import Archs, Space
from .graph import Floats
from .table import Ints, Metric, costs_of, name_of, scale_of

TABLE_ROWS = 1_000_000  # uniform draws from which frequencies are learned
BIN_WIDTH_MACS = 25e6
PROBE_DRAWS = 2000  # that give the range of costs
MIN_BINS = 20  # in the range of costs: small spaces need narrower bins than the paper's


@dataclass(frozen=True)
class Proposal:
    """Frequencies of the options in each cost bin, learned by `learn`."""

    space: Space
    metric: Metric
    step: float  # width of a bin, in units of the metric
    bins: Ints  # bin numbers: round(cost / step)
    share: Floats  # of the table's rows, by bin
    cumulative: Floats  # [bin, choice, option]: cumulative frequencies of the options among the rows in a bin

    def draw(self, rng: np.random.Generator, bins: Ints) -> Archs:
        """Draw one architecture for each entry of `bins`, without checking its cost.

        Args:
            rng: The source of randomness.
            bins: Positions in `self.bins`.
        """
        archs = np.empty((len(bins), len(self.space.choices)), dtype=np.int8)
        for i, c in enumerate(self.space.choices):
            chance = self.cumulative[bins, i, : len(c.options)]
            gene = (rng.random(len(bins))[:, None] >= chance).sum(axis=1)
            if c.parent >= 0:  # choices are drawn independently: what the parent rules out falls back to 0
                gene = np.where(gene < np.array(c.allowed)[archs[:, c.parent]], gene, 0)
            archs[:, i] = gene
        return archs

    def hits(self, archs: Archs, bins: Ints) -> npt.NDArray[np.bool_]:
        """Return whether the true cost of each architecture falls into its bin (a position in `self.bins`)."""
        label = np.rint(costs_of(self.space, archs, self.metric) / self.step)
        return np.equal(label, self.bins[bins])


def learn(
    space: Space, metric: Metric = "macs", *, rows: int = TABLE_ROWS, step: float = BIN_WIDTH_MACS, seed: int = 0
) -> Proposal:
    """Learn the proposal from uniform draws.

    Args:
        space: The space to draw from.
        metric: The cost that bins are of.
        rows: Number of draws.
        step: Width of a bin, in units of the metric.
        seed: Of the draws.
    """
    archs = space.sample(np.random.default_rng(seed), rows)
    label = np.rint(costs_of(space, archs, metric) / step).astype(np.int64)  # half to even, as the released code
    bins, position, count = np.unique(label, return_inverse=True, return_counts=True)
    widest = int(space.radices.max())
    frequency = np.zeros((len(bins), len(space.choices), widest))
    for i in range(len(space.choices)):
        np.add.at(frequency[:, i], (position, archs[:, i]), 1)
    cumulative = np.cumsum(frequency, axis=2) / count[:, None, None]
    cumulative[:, :, -1] = 1
    for i, radix in enumerate(space.radices):
        cumulative[:, i, radix - 1 :] = 1  # rounding must never select an option that does not exist
    return Proposal(space, metric, step, bins, count / rows, cumulative)


def bin_width_for(space: Space, metric: Metric, width: float) -> float:
    """Return `width` (in units of the metric), or less if the space would have fewer than `MIN_BINS` bins."""
    costs = costs_of(space, space.sample(np.random.default_rng(0), PROBE_DRAWS), metric)
    return min(width, float(costs.max() - costs.min()) / MIN_BINS or 1.0)


def propose_from(space: Space, metric: Metric, window: tuple[int, int]) -> tuple[Callable[..., Archs], str]:
    """Return a proposal for a cost window, and a description of it.

    It draws a bin that overlaps the window, by the bin's share, then each choice by its frequencies in that bin.

    Args:
        space: The space to draw from.
        metric: The cost that the window limits.
        window: Least and greatest cost, in units of the metric.
    """
    step = bin_width_for(space, metric, BIN_WIDTH_MACS)
    proposal = learn(space, metric, step=step)
    low, high = window[0] / step - 0.5, window[1] / step + 0.5
    inside = np.flatnonzero((proposal.bins >= low) & (proposal.bins <= high))
    if not len(inside):
        inside = np.array([np.abs(proposal.bins * step - np.clip(window[0], 0, None)).argmin()])
    chance = proposal.share[inside] / proposal.share[inside].sum()

    def propose(rng: np.random.Generator, n: int) -> Archs:
        return proposal.draw(rng, rng.choice(inside, size=n, p=chance))

    shown = f"{step / scale_of(metric):,.10g} {name_of(metric)}"
    return propose, f"AttentiveNAS's proposal: {TABLE_ROWS:,} offline draws in bins of {shown}"
