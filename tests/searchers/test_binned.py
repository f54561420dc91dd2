from __future__ import annotations

from collections.abc import Callable

import numpy as np

from supernetic.costs import costs_of
from supernetic.objective import Constraint, Objective
from supernetic.searchers import SearchProblem, Trial
from supernetic.searchers.binned import BinnedEvolution, smallest
from supernetic.spaces.attentive import Attentive
from supernetic.spaces.nasbench201 import NASBench201

SCORE = "table/c10_valid_200"
SMALL = BinnedEvolution(population=40, generations=20, mutants=0.5, crossovers=0.5)


def test_the_first_is_the_smallest(run_on: Callable[..., list[Trial]]) -> None:
    trials = run_on(SMALL, "nasbench201", 500)
    macs = [t.metrics["cost/macs"] for t in trials]
    assert macs[0] == min(macs) == costs_of(NASBench201(), np.zeros((1, 6), dtype=np.int8))[0]


def test_smallest_is_exact_where_every_gene_has_a_smallest_option() -> None:
    space = Attentive()
    task = SearchProblem(space, (Objective("cost/macs", False),))
    assert smallest(task, np.random.default_rng(0)) == (0,) * len(space.choices)
    above = SearchProblem(space, task.objectives, (Constraint("cost/macs", low=300e6),))
    macs = costs_of(space, np.array([smallest(above, np.random.default_rng(0))], dtype=np.int8))[0]
    assert 300e6 <= macs < 301e6


def test_every_bin_gets_better(run_on: Callable[..., list[Trial]]) -> None:
    trials = run_on(SMALL, "nasbench201", 800)
    start, end = (best_by_bin(part) for part in (trials[:40], trials))
    assert set(start) <= set(end)
    assert np.mean([end[b] - start[b] for b in start]) > 0.5
    assert len({t.arch for t in trials}) == len(trials)


def test_the_papers_sizes() -> None:
    paper = BinnedEvolution()
    assert (paper.population, round(paper.mutants * paper.population), round(paper.crossovers * paper.population)) == (
        512,
        128,
        128,
    )


def best_by_bin(trials: list[Trial]) -> dict[int, float]:
    best: dict[int, float] = {}
    for t in trials:
        place = round(t.metrics["cost/macs"] / 10e6)
        best[place] = max(best.get(place, 0), t.metrics[SCORE])
    return best
