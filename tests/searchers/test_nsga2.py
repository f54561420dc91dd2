from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from supernetic import pareto
from supernetic.objective import Constraint, Objective
from supernetic.searchers import Task, Trial
from supernetic.searchers.grid import GridSearch
from supernetic.searchers.nsga2 import NSGA2, Credit, frequency
from supernetic.searchers.random import RandomSearch
from supernetic.spaces.macro import Macro

SCORE = "table/c10_valid_200"
GOALS = (Objective(SCORE, True), Objective("cost/macs", False))
PAPER = NSGA2(population=70, generations=120, weights=(0.4, 0.4, 0.2))


def share_of_true_front(run_on: Callable[..., list[Trial]], trials: list[Trial]) -> float:
    every = pareto.points([t.metrics for t in run_on(GridSearch(), "nasbench201", 15_625, macs=True)], GOALS)
    found = pareto.points([t.metrics for t in trials if t.ok], GOALS)
    reference = every.max(axis=0)
    return pareto.hypervolume(found, reference) / pareto.hypervolume(every, reference)


def test_the_front_of_nasbench201(run_on: Callable[..., list[Trial]]) -> None:
    """Recomputed elsewhere: 99.9 % of the hypervolume after 750 evaluations at population 50."""
    ours = [share_of_true_front(run_on, run_on(NSGA2(), "nasbench201", 1000, s, macs=True)) for s in range(3)]
    random = [share_of_true_front(run_on, run_on(RandomSearch(), "nasbench201", 1000, s, macs=True)) for s in range(3)]
    assert min(ours) > 0.999
    assert min(ours) > max(random)


def test_a_run_of_the_paper_counts_8400_and_the_two_first_populations(run_on: Callable[..., list[Trial]]) -> None:
    trials = run_on(PAPER.__class__(population=70, generations=5), "nasbench201", 20_000, macs=True)
    assert len(trials) == 70 * (2 + 5)
    assert len({t.arch for t in trials}) == len(trials)
    assert PAPER.population * PAPER.generations == 8400


def test_generations_are_filled_up_after_the_expensive_constraint(run_on: Callable[..., list[Trial]]) -> None:
    floor = Constraint(SCORE, low=88)
    searcher = NSGA2(population=20, generations=3)
    trials = run_on(searcher, "nasbench201", 5000, macs=True, where=(floor, Constraint("cost/macs", high=100e6)))
    assert all(t.metrics["cost/macs"] <= 100e6 for t in trials)
    assert sum(t.ok for t in trials) == 20 * 5
    assert sum(not t.ok for t in trials) > 0


def test_it_ends_where_nothing_new_is_left(run_on: Callable[..., list[Trial]]) -> None:
    limit = Constraint("cost/macs", high=8e6)  # 729 cells without convolution
    trials = run_on(NSGA2(population=100, generations=500), "nasbench201", 10_000, macs=True, where=(limit,))
    assert 600 < len(trials) <= 729


def test_an_accuracy_out_of_reach_ends_too(run_on: Callable[..., list[Trial]]) -> None:
    trials = run_on(NSGA2(population=5), "nasbench201", 10_000, macs=True, where=(Constraint(SCORE, low=99),))
    assert not any(t.ok for t in trials)
    assert len(trials) == 2 * 5 * 21  # both first populations, each with its retries


def test_weights_move_the_search(run_on: Callable[..., list[Trial]]) -> None:
    """With all weight on MACs, crowding spreads the population along MACs."""
    a, b = (run_on(NSGA2(weights=w), "nasbench201", 1000, macs=True) for w in ((1.0, 0.0), (0.0, 1.0)))
    assert [t.arch for t in a] != [t.arch for t in b]


def test_credit_is_the_standardised_mean_of_an_options_networks() -> None:
    space = Macro()
    task = Task(space, (Objective("toy/x", True), Objective("cost/macs", False)))
    rng = np.random.default_rng(0)
    trials = [
        Trial(tuple(a), {"toy/x": float(x), "cost/macs": float(m)})
        for a, x, m in zip(space.sample(rng, 40).tolist(), rng.random(40), rng.random(40), strict=True)
    ]
    trials += [Trial((0,) * 8, {"toy/x": float("nan"), "cost/macs": 1.0}, "failed")]
    credit = Credit.of(task)
    assert not credit.scores().any()
    for start in (0, 10, 30):
        credit.add(task, trials[start : {0: 10, 10: 30, 30: 41}[start]])
    values = np.array([t.metrics["toy/x"] for t in trials[:40]])
    for gene in range(8):
        for option in range(3):
            has = [v for t, v in zip(trials[:40], values, strict=True) if t.arch[gene] == option]
            assert credit.scores()[0, gene, option] == pytest.approx((np.mean(has) - values.mean()) / values.std())


@pytest.mark.parametrize(("kinds", "favourite"), [((0, 1, 0), 2), ((0, 0, 1), 1)])
def test_reinforced_and_prior_mutations_prefer_their_options(kinds: tuple[float, float, float], favourite: int) -> None:
    space = Macro()
    task = Task(space, (Objective("toy/x", True), Objective("cost/macs", False)))
    archs = np.zeros((3000, 8), dtype=np.int8)
    credits, frequencies = np.ones((2, 8, 3)), np.full((8, 3), 0.1)
    credits[:, :, 2] = 9
    frequencies[:, 1] = 0.9
    searcher = NSGA2(kinds=kinds)
    mutants = searcher._mutate(task, np.random.default_rng(0), archs, credits, frequencies)
    changed = mutants[mutants != archs]
    assert len(changed) == 3000  # one gene each, and never to the option it has
    assert (changed == favourite).mean() == pytest.approx(0.9, abs=0.02)


def test_steering_shares() -> None:
    three = Task(Macro(), (*GOALS, Objective("cost/params", True)))
    assert NSGA2()._steering(three) == pytest.approx([0.7, 0.15, 0.15])
    assert NSGA2()._steering(Task(Macro(), GOALS[:1])) == pytest.approx([1])
    assert NSGA2()._steering(Task(Macro(), GOALS[1:])) == pytest.approx([1])


def test_frequency() -> None:
    task = Task(Macro(), GOALS)
    archs = np.array([[0] * 8, [0] * 8, [2] * 8, [1] * 8], dtype=np.int8)
    assert frequency(task, archs)[3].tolist() == [0.5, 0.25, 0.25]
