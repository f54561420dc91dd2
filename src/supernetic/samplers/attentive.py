"""Attentive sampling: of a few networks at the same budget, train the best (BestUp) or the worst (WorstUp).

Paper: Wang et al., "AttentiveNAS", arXiv 2011.09011, section 3; BestUp-3 by loss is what was released.
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

from ..costs.budget import ADDITIVE_METRICS, BudgetSampler, bin_width, budget_sampler, metric_of
from ..costs.graph import cost_graph_of
from ..costs.proposal import BIN_WIDTH_MACS, TABLE_ROWS, Proposal, bin_width_for, learn
from ..costs.suffix_counts import SuffixCounts, count_suffixes
from ..costs.table import LayerCost, Metric, name_of, scale_of
from ..errors import BudgetError, InputError, UnknownNameError
from ..objective import Constraint
from ..space import Arch, Archs, SequentialSpace, Space
from .step import Draw, SampledPath, Step

PROPOSALS_PER_BATCH = 32
MAX_BATCHES = 400  # per network, before the sampler gives up


@dataclass(frozen=True)
class Attentive:
    """Trains one path per step: the best or the worst of `k` networks at a random budget.

    Args:
        k: Networks to compare.
        up: Whether to train the best or the worst of them.
        budgets: "prior" draws a budget bin by its share of all networks, "uniform" draws all bins equally often.
        draws: How networks of a bin are drawn: "proposal" as in the paper, or "exact".
        metric: What budgets limit: macs, params or latency/ms.
        width: Of a bin, in the metric's own unit; narrower if a space would have fewer than 20 bins.
        rows: Uniform draws from which bins and frequencies are learned, once.
        predictor: Scores architectures, higher is better; None for minus the loss on the batch of the step.
    """

    k: int = 3
    up: Literal["best", "worst"] = "best"
    budgets: Literal["prior", "uniform"] = "prior"
    draws: Literal["proposal", "exact"] = "proposal"
    metric: str = "macs"
    width: float = BIN_WIDTH_MACS
    rows: int = TABLE_ROWS
    predictor: Callable[[Sequence[Arch]], Sequence[float]] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.k < 1 or self.rows < 1 or not self.width > 0:
            raise InputError(
                f"attentive: k, rows and width must be positive, got {self.k}, {self.rows} and {self.width:g}"
            )
        options = {
            "up": ("best", "worst"),
            "budgets": ("prior", "uniform"),
            "draws": DRAW_METHODS,
            "metric": ADDITIVE_METRICS,
        }
        for name, values in options.items():
            if getattr(self, name) not in values:
                raise UnknownNameError(f"attentive {name}", getattr(self, name), values)

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Draw a budget, then `k` networks at it; train one of them."""
        proposal = _proposal(space, metric_of(self.metric, draw.layer_cost), self.width, self.rows)
        bins = len(proposal.bins)
        chosen = int(draw.rng.choice(bins, p=proposal.share if self.budgets == "prior" else None))
        rows = DRAW_METHODS[self.draws](proposal, chosen, draw.rng, self.k)
        archs: list[Arch] = [tuple(row) for row in rows.tolist()]
        if self.k > 1:
            score = np.asarray((self.predictor or draw.score)(archs), dtype=float)
            score = np.where(np.isnan(score), -np.inf, score)  # a loss of NaN counts as the worst
            archs = [archs[int(score.argmax() if self.up == "best" else score.argmin())]]
        return Step((SampledPath(archs[0], regularise=True),))


def _proposed(proposal: Proposal, chosen: int, rng: np.random.Generator, k: int) -> Archs:
    """Draw `k` networks from the paper's proposal that fall into the chosen bin."""
    kept: list[Archs] = []
    bins = np.full(PROPOSALS_PER_BATCH, chosen)
    for _ in range(MAX_BATCHES * k):
        archs = proposal.draw(rng, bins)
        archs = archs[[not proposal.space._invalid_reason(tuple(a)) for a in archs.tolist()]]
        kept.append(archs[proposal.hits(archs, bins[: len(archs)])])
        if sum(map(len, kept)) >= k:
            return np.concatenate(kept)[:k]
    budget = f"{proposal.bins[chosen] * proposal.step / scale_of(proposal.metric):,.10g} {name_of(proposal.metric)}"
    proposals = PROPOSALS_PER_BATCH * MAX_BATCHES * k
    raise BudgetError(f"{proposal.space.name}: {proposals:,} proposals missed the bin at {budget}")


def _exactly(proposal: Proposal, chosen: int, rng: np.random.Generator, k: int) -> Archs:
    """Draw `k` networks uniformly from all networks of the chosen bin."""
    return _window(proposal.space, proposal.metric, proposal.step, int(proposal.bins[chosen])).sample(rng, k)[0]


DRAW_METHODS = {"proposal": _proposed, "exact": _exactly}


@lru_cache(maxsize=4)
def _proposal(space: Space, metric: Metric, width: float, rows: int) -> Proposal:
    return learn(space, metric, rows=rows, step=bin_width_for(space, metric, width * scale_of(metric)))


@lru_cache(maxsize=1024)
def _window(space: Space, metric: Metric, width: float, label: int) -> BudgetSampler:
    """Return a sampler over bin `label`: costs that round to `label` widths (half to even, so odd bins are open)."""
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
    """Count the networks at each cost: one table for all bins; where its costs are rounded, bins reject."""
    if not isinstance(space, SequentialSpace):
        return None
    graph = cost_graph_of(space, metric)
    most = graph.extremes()[1]
    finest = bin_width(graph, most, most)
    return count_suffixes(graph, graph.unit if graph.unit >= finest else bin_width(graph, most - int(width), most))
