"""Attentive sampling: of a few networks at the same budget, train the best (BestUp) or the worst (WorstUp).

Paper: Wang et al., "AttentiveNAS", arXiv 2011.09011 (paper 001), section 3; BestUp-3 by loss is what was released.
Budgets may be of any cost that adds up, measured latency included (appendix F).
Differences: networks at a budget may be drawn exactly uniformly (`draws="exact"`) in place of the paper's factorised
proposal, and a proposal outside its bin is never kept (the released code keeps the 101st).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, floor
from typing import Literal

import numpy as np

from ..costs.budget import ADDITIVE, BudgetSampler, bin_width, budget_sampler, metric_of
from ..costs.graph import cost_graph_of
from ..costs.proposal import ROWS, STEP, Proposal, learn
from ..costs.suffix_counts import SuffixCounts, count_suffixes
from ..costs.table import LayerCost, Metric, costs_of, name_of, scale_of
from ..errors import BudgetError, InputError, UnknownNameError
from ..objective import Constraint
from ..space import Arch, Archs, SequentialSpace, Space
from .step import Draw, SampledPath, Step

BATCH, TRIES = 32, 400  # proposals at a time; batches before giving up


@dataclass(frozen=True)
class Attentive:
    """One path per step: the best or worst of `k` at a budget drawn from the networks' own costs or uniformly."""

    k: int = 3
    up: Literal["best", "worst"] = "best"
    budgets: Literal["prior", "uniform"] = "prior"  # a bin by its share of all networks, or any bin alike
    draws: Literal["proposal", "exact"] = "proposal"
    metric: str = "macs"  # that budgets are of: macs, params, or latency/ms
    width: float = STEP  # of a bin, in MACs (or ms, ...); a twentieth of the costs there are if that is narrower
    rows: int = ROWS  # uniform draws from which bins and frequencies are learned, once
    # Higher is better; without a predictor, minus the loss on this step's batch.
    predictor: Callable[[Sequence[Arch]], Sequence[float]] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.k < 1 or self.rows < 1 or not self.width > 0:
            raise InputError(
                f"attentive: k, rows and width must be positive, got {self.k}, {self.rows} and {self.width:g}"
            )
        checks = {"up": ("best", "worst"), "budgets": ("prior", "uniform"), "draws": DRAWS, "metric": ADDITIVE}
        for name, known in checks.items():
            if getattr(self, name) not in known:
                raise UnknownNameError(f"attentive {name}", getattr(self, name), known)

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw a budget, then `k` networks at it; train one of them."""
        proposal = _proposal(space, metric_of(self.metric, draw.layer_cost), self.width, self.rows)
        bins = len(proposal.bins)
        place = int(draw.rng.choice(bins, p=proposal.share if self.budgets == "prior" else None))
        archs: list[Arch] = [tuple(row) for row in DRAWS[self.draws](proposal, place, draw.rng, self.k).tolist()]
        if self.k > 1:
            score = np.asarray((self.predictor or draw.score)(archs), dtype=float)
            score = np.where(np.isnan(score), -np.inf, score)  # a loss that is no number is a bad one
            archs = [archs[int(score.argmax() if self.up == "best" else score.argmin())]]
        return Step((SampledPath(archs[0], regularise=True),))


def _proposed(proposal: Proposal, place: int, rng: np.random.Generator, k: int) -> Archs:
    """`k` draws of the paper's proposal that fall into the bin."""
    kept: list[Archs] = []
    places = np.full(BATCH, place)
    for _ in range(TRIES * k):
        archs = proposal.draw(rng, places)
        archs = archs[[not proposal.space._invalid_reason(tuple(a)) for a in archs.tolist()]]
        kept.append(archs[proposal.hits(archs, places[: len(archs)])])
        if sum(map(len, kept)) >= k:
            return np.concatenate(kept)[:k]
    budget = f"{proposal.bins[place] * proposal.step / scale_of(proposal.metric):,.10g} {name_of(proposal.metric)}"
    raise BudgetError(f"{proposal.space.name}: {BATCH * TRIES * k:,} proposals missed the bin at {budget}")


def _exactly(proposal: Proposal, place: int, rng: np.random.Generator, k: int) -> Archs:
    """`k` draws, uniform over all networks of the bin."""
    return _window(proposal.space, proposal.metric, proposal.step, int(proposal.bins[place])).sample(rng, k)[0]


DRAWS = {"proposal": _proposed, "exact": _exactly}


@lru_cache(maxsize=4)
def _proposal(space: Space, metric: Metric, width: float, rows: int) -> Proposal:
    few = costs_of(space, space.sample(np.random.default_rng(0), 2000), metric)
    step = min(width * scale_of(metric), float(few.max() - few.min()) / 20 or 1.0)
    return learn(space, metric, rows=rows, step=step)


@lru_cache(maxsize=1024)
def _window(space: Space, metric: Metric, width: float, label: int) -> BudgetSampler:
    """A sampler over bin `label`, the costs that round to `label` widths (half to even, so odd bins are open)."""
    odd = bool(label % 2)
    low, high = (label - 0.5) * width, (label + 0.5) * width
    scale = scale_of(metric)
    window = Constraint(name_of(metric), low / scale, high / scale, odd, odd)
    layer_cost: LayerCost | None = None if isinstance(metric, str) else metric
    counts = _counts(space, metric, width)
    if counts is None:
        return budget_sampler(space, [window], layer_cost=layer_cost)

    def propose(rng: np.random.Generator, n: int) -> Archs:
        return counts.sample(rng, n, floor(low), ceil(high))

    return BudgetSampler(space, (window,), "exact: one table for all bins", propose, (window,), layer_cost=layer_cost)


@lru_cache(maxsize=4)
def _counts(space: Space, metric: Metric, width: float) -> SuffixCounts | None:
    """How many networks there are at each cost: one table for all bins; where its costs are rounded, bins reject."""
    if not isinstance(space, SequentialSpace):
        return None
    walk = cost_graph_of(space, metric)
    most = walk.extremes()[1]
    finest = bin_width(walk, most, most)
    return count_suffixes(walk, walk.unit if walk.unit >= finest else bin_width(walk, most - int(width), most))
