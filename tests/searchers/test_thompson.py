from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from supernetic import pareto
from supernetic.catalog import space as space_of
from supernetic.errors import InputError
from supernetic.evaluators import CostEvaluator
from supernetic.objective import Constraint, Objective
from supernetic.searchers import SearchProblem, Trial, run_search
from supernetic.searchers.random import RandomSearch
from supernetic.searchers.thompson import Thompson
from supernetic.spaces.macro import Macro

SCORE = "table/mean_acc"
TENTH_BEST = 93.0  # of NAS-Bench-Macro, in percent, rounded down


def test_evaluations_to_one_of_the_ten_best(run_on: Callable[..., list[Trial]]) -> None:
    """Regularised evolution needs 58 on average."""
    for seed in range(2):
        trials = run_on(Thompson(), "macro", 30, seed)
        assert max(t.metrics[SCORE] for t in trials) >= TENTH_BEST
        assert len({Macro().canonical(t.arch) for t in trials}) == 30


def test_it_begins_at_random_and_then_asks_in_batches() -> None:
    task = SearchProblem(Macro(), (Objective("cost/macs", False),))
    asking = Thompson(initial=4, batch=3).search(task, np.random.default_rng(0))
    batch = next(asking)
    sizes = []
    for _ in range(3):
        sizes.append(len(batch))
        batch = asking.send([Trial(a, {"cost/macs": 1.0}) for a in batch])
    assert sizes == [4, 3, 3]


def test_costs_are_known() -> None:
    """With no objective but a cost, every round finds the cheapest candidates, and soon the cheapest network."""
    space = Macro()
    task = SearchProblem(space, (Objective("cost/macs", False),))
    trials = run_search(Thompson(), task, CostEvaluator(space), seed=0, budget=30)
    assert max(t.metrics["cost/macs"] for t in trials[10:15]) < min(t.metrics["cost/macs"] for t in trials[:10])
    assert (0,) * 8 in {t.arch for t in trials}


def test_the_front_of_two_objectives(run_on: Callable[..., list[Trial]]) -> None:
    """A larger hypervolume than at random, at the same evaluations."""
    goals = (Objective(SCORE, True), Objective("cost/macs", False))
    volumes = []
    for searcher in (Thompson(), RandomSearch()):
        trials = run_on(searcher, "macro", 40, macs=True)
        points = pareto.points([t.metrics for t in trials], goals)
        volumes.append(pareto.hypervolume(points, (-85.0, 1.5e8)))
    assert volumes[0] > volumes[1]


def test_a_space_that_is_used_up_ends_the_search() -> None:
    space = space_of("efficientnet")
    task = SearchProblem(space, (Objective("cost/macs", True),))
    trials = run_search(Thompson(initial=3, batch=2), task, CostEvaluator(space), budget=50)
    assert len(trials) == space.size


def test_large_spaces_are_sampled() -> None:
    space = space_of("scarlet-s1")
    task = SearchProblem(space, (Objective("cost/params", True),), (Constraint("cost/macs", high=4e8),))
    settings = Thompson(initial=5, batch=3, candidates=60)
    trials = run_search(settings, task, CostEvaluator(space), seed=1, budget=20)
    assert len(trials) == 20
    assert all(t.metrics["cost/macs"] <= 4e8 for t in trials)
    assert max(t.metrics["cost/params"] for t in trials[5:]) > max(t.metrics["cost/params"] for t in trials[:5])


@pytest.mark.parametrize(("name", "least"), [("initial", 2), ("batch", 1), ("candidates", 2)])
def test_refusals(name: str, least: int) -> None:
    with pytest.raises(InputError, match=f"{name} must be at least {least}, got 0"):
        Thompson(**{name: 0})
