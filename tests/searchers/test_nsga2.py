from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from supernetic import catalog, pareto
from supernetic.objective import Constraint, Metrics, Objective
from supernetic.searchers import SearchProblem, Trial, run_search
from supernetic.searchers.grid import GridSearch
from supernetic.searchers.nsga2 import NSGA2, Credit, frequency
from supernetic.searchers.random import RandomSearch
from supernetic.space import Arch
from supernetic.spaces.macro import Macro

SCORE = "table/c10_valid_200"
GOALS = (Objective(SCORE, True), Objective("cost/macs", False))
PAPER = NSGA2(population=70, generations=120, weights=(0.4, 0.4, 0.2))


@dataclass(frozen=True)
class Toy:
    """An evaluator made of a function."""

    metrics: tuple[str, ...]
    values: Callable[[Arch], tuple[float, ...]]
    test: frozenset[str] = frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        return [dict(zip(self.metrics, self.values(a), strict=True)) for a in archs]


@cache
def every_cell(run_on: Callable[..., list[Trial]]) -> pareto.Points:
    return pareto.points([t.metrics for t in run_on(GridSearch(), "nasbench201", 15_625, macs=True)], GOALS)


def share_of_true_front(run_on: Callable[..., list[Trial]], trials: list[Trial]) -> float:
    every = every_cell(run_on)
    found = pareto.points([t.metrics for t in trials if t.ok], GOALS)
    reference = every.max(axis=0)
    return pareto.hypervolume(found, reference) / pareto.hypervolume(every, reference)


def test_the_front_of_nasbench201(run_on: Callable[..., list[Trial]]) -> None:
    """Recomputed elsewhere: 99.9 % of the hypervolume after 750 evaluations at population 50."""
    ours = [share_of_true_front(run_on, run_on(NSGA2(), "nasbench201", 1000, s, macs=True)) for s in range(3)]
    random = [share_of_true_front(run_on, run_on(RandomSearch(), "nasbench201", 1000, s, macs=True)) for s in range(3)]
    assert min(ours) > 0.999
    assert min(ours) > max(random)


def test_a_run_of_the_paper_makes_8400_evaluations() -> None:
    toy = Toy(("toy/a", "toy/b", "toy/c"), lambda a: (sum(a), sum(a[::2]), a[0]))
    task = SearchProblem(catalog.space("scarlet-s1"), tuple(Objective(name, name != "toy/b") for name in toy.metrics))
    trials = run_search(PAPER, task, toy, seed=0, budget=20_000)
    assert len(trials) == PAPER.population * PAPER.generations == 8400
    assert len({t.arch for t in trials}) == len(trials)


def test_the_defaults_make_1000_evaluations(run_on: Callable[..., list[Trial]]) -> None:
    assert len(run_on(NSGA2(), "nasbench201", 20_000, macs=True)) == 1000


@pytest.mark.parametrize("generations", [1, 2, 3, 4])
def test_all_generations_count(run_on: Callable[..., list[Trial]], generations: int) -> None:
    trials = run_on(NSGA2(population=6, generations=generations), "nasbench201", 1000, macs=True)
    assert len(trials) == len({t.arch for t in trials}) == 6 * generations


def test_generations_are_filled_up_after_the_expensive_constraint(run_on: Callable[..., list[Trial]]) -> None:
    floor = Constraint(SCORE, low=88)
    searcher = NSGA2(population=20, generations=5)
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


@pytest.mark.parametrize(("weights", "x", "y"), [((1.0, 0.0), 0.5, 0.004), ((0.0, 1.0), 0.18, 0.2), ((), 0.33, 0.041)])
def test_weights_move_the_search(weights: tuple[float, ...], x: float, y: float) -> None:
    """Where all networks are on the front, y = (1 - x)^8, crowding spreads them along the axes that weigh."""

    def curve(arch: Arch) -> tuple[float, float]:
        place = int("".join(map(str, arch)), 3) / 3**8
        return place, (1 - place) ** 8

    toy = Toy(("toy/x", "toy/y"), curve)
    task = SearchProblem(Macro(), tuple(Objective(name, False) for name in toy.metrics))
    late = run_search(NSGA2(weights=weights), task, toy, seed=0, budget=1000)[500:]
    medians = [np.median([t.metrics[name] for t in late]) for name in toy.metrics]
    assert medians == pytest.approx([x, y], abs=0.05)


def test_credit_is_the_standardised_mean_of_an_options_networks() -> None:
    space = Macro()
    task = SearchProblem(space, (Objective("toy/x", True), Objective("cost/macs", False)))
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
    task = SearchProblem(space, (Objective("toy/x", True), Objective("cost/macs", False)))
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
    three = SearchProblem(Macro(), (*GOALS, Objective("cost/params", True)))
    assert NSGA2()._steering(three) == pytest.approx([0.7, 0.15, 0.15])
    assert NSGA2()._steering(SearchProblem(Macro(), GOALS[:1])) == pytest.approx([1])
    assert NSGA2()._steering(SearchProblem(Macro(), GOALS[1:])) == pytest.approx([1])


def test_frequency() -> None:
    task = SearchProblem(Macro(), GOALS)
    archs = np.array([[0] * 8, [0] * 8, [2] * 8, [1] * 8], dtype=np.int8)
    assert frequency(task, archs)[3].tolist() == [0.5, 0.25, 0.25]
