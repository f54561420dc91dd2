"""Trials per sample at a drawn budget (AttentiveNAS, appendix C): `python experiments/sampling.py`."""

from __future__ import annotations

from time import process_time

import numpy as np
from record import Record

from supernetic import catalog
from supernetic.costs.graph import cost_graph_of
from supernetic.costs.half_lists import list_halves
from supernetic.costs.proposal import BIN_WIDTH_MACS, TABLE_ROWS, learn
from supernetic.space import SequentialSpace

DRAWS = 20_000  # per bin


def main() -> None:
    """Budgets drawn uniformly over the 25 M bins that a million draws reach."""
    begin = process_time()
    space = catalog.space("attentive")
    assert isinstance(space, SequentialSpace)
    proposal = learn(space)
    rng = np.random.default_rng(1)
    rates = []
    for place in range(len(proposal.bins)):
        places = np.full(DRAWS, place)
        rates.append(max(1, proposal.hits(proposal.draw(rng, places), places).sum()) / DRAWS)
    trials = 1 / np.array(rates)
    halves = list_halves(cost_graph_of(space))
    assert halves is not None
    edges = [(int((b - 0.5) * BIN_WIDTH_MACS) + 1, int((b + 0.5) * BIN_WIDTH_MACS)) for b in proposal.bins]
    share = np.array([halves.window(*edge).weight for edge in edges]) / space.size
    spread = float(trials.std(ddof=1) / np.sqrt(len(trials)))
    mean = float(trials.mean())
    Record(
        "sampling_trials",
        "a network at a drawn budget takes about 12 trials with the proposal, 50,878 without",
        "AttentiveNAS, appendix C",
        {"proposal": 12, "naive": 50_878, "proposal_reference": 13.5, "naive_reference": 54_000},
        {
            "proposal": round(mean, 2),
            "proposal_weighted_by_share": round(float((proposal.share * trials).sum()), 2),
            "proposal_most": round(float(trials.max()), 1),
            "naive_from_table": round(float((1 / proposal.share).mean())),
            "naive_exactly": round(float((1 / share).mean())),
            "exact": 1,
            "bins": len(proposal.bins),
        },
        len(proposal.bins),
        9.5 <= mean <= 17.5,
        "The proposal needs about as many trials as published; naive trials are dominated by the rarest bins, so they "
        "depend on how many draws the table has; exact sampling needs one.",
        interval=[round(mean - 1.96 * spread, 2), round(mean + 1.96 * spread, 2)],
        seeds=[0, 1],
        scale=f"a table of {TABLE_ROWS:,} draws, {DRAWS:,} proposals per bin",
        cpu_minutes=round((process_time() - begin) / 60, 2),
    ).write()


if __name__ == "__main__":
    main()
