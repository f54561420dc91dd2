from __future__ import annotations

from collections.abc import Callable

import numpy as np

from supernetic.objective import Constraint
from supernetic.searchers import Trial
from supernetic.searchers.evolution import RegularisedEvolution, SPOSEvolution

SCORE = "table/c10_valid_200"


def evaluations_to_best(trials: list[Trial]) -> int:
    scores = np.array([t.metrics[SCORE] for t in trials])
    return 1 + int(np.argmax(scores > 91.606)) if scores.max() > 91.606 else len(trials)


def test_regularised_evolution_reaches_the_best_cell(run_on: Callable[..., list[Trial]]) -> None:
    """Recomputed elsewhere: 148 on average at 30/10 without duplicates; random search needs about 8,000."""
    needed = [evaluations_to_best(run_on(RegularisedEvolution(), "nasbench201", 800, s)) for s in range(12)]
    assert 80 < np.mean(needed) < 260


def test_children_differ_from_someone_alive_in_one_gene(run_on: Callable[..., list[Trial]]) -> None:
    searcher = RegularisedEvolution(population=10, sample=4)
    trials = run_on(searcher, "nasbench201", 200)
    assert len({t.arch for t in trials}) == 200
    for i in range(10, 200):
        alive = trials[i - 10 : i]  # only the youngest ten may have children
        distances = [sum(a != b for a, b in zip(t.arch, trials[i].arch, strict=True)) for t in alive]
        assert min(distances) == 1


def test_the_infeasible_have_no_children(run_on: Callable[..., list[Trial]]) -> None:
    floor = Constraint(SCORE, low=85)
    trials = run_on(RegularisedEvolution(population=10, sample=4), "nasbench201", 150, where=(floor,))
    assert np.mean([t.ok for t in trials[100:]]) > np.mean([t.ok for t in trials[:10]])


def test_spos_generations(run_on: Callable[..., list[Trial]]) -> None:
    trials = run_on(SPOSEvolution(), "nasbench201", 5000)
    assert len(trials) == 20 * 50
    assert len({t.arch for t in trials}) == len(trials)
    first, last = (np.median([t.metrics[SCORE] for t in part]) for part in (trials[:50], trials[-50:]))
    assert last > first
    assert max(t.metrics[SCORE] for t in trials) > 91.5


def test_spos_within_a_budget_of_macs(run_on: Callable[..., list[Trial]]) -> None:
    trials = run_on(SPOSEvolution(generations=4), "nasbench201", 5000, where=(Constraint("cost/macs", high=40e6),))
    assert len(trials) == 200
    assert all(t.metrics["cost/macs"] <= 40e6 for t in trials)


def test_spos_on_several_objectives_goes_for_small_networks_too(run_on: Callable[..., list[Trial]]) -> None:
    one = run_on(SPOSEvolution(), "nasbench201", 1000)
    two = run_on(SPOSEvolution(), "nasbench201", 1000, macs=True)
    small_one, small_two = (
        max(t.metrics[SCORE] for t in trials if t.metrics["cost/macs"] < 30e6) for trials in (one, two)
    )
    assert small_two > small_one
