from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from supernetic.costs import costs_of
from supernetic.costs.table import LayerCost
from supernetic.errors import BudgetError
from supernetic.objective import Constraint, Objective
from supernetic.searchers import SearchProblem, Trial
from supernetic.searchers.problem import fill
from supernetic.space import Arch
from supernetic.spaces.macro import Macro

ACC, MACS = Objective("valid/accuracy", True), Objective("cost/macs", False)
SPACE = Macro()
ALL = np.array(list(product(range(3), repeat=8)), dtype=np.int8)


def trial(acc: float, macs: float, status: str = "ok") -> Trial:
    return Trial((0,) * 8, {"valid/accuracy": acc, "cost/macs": macs}, status)


def test_cheap_constraints_need_no_evaluation() -> None:
    task = SearchProblem(SPACE, (ACC,), (Constraint("valid/accuracy", 50), Constraint("cost/macs", high=60e6)))
    assert [c.name for c in task.cheap] == ["cost/macs"]
    assert (task.feasible(ALL) == (costs_of(SPACE, ALL) <= 60e6)).all()


def test_samples_are_uniform_over_the_window() -> None:
    window = Constraint("cost/macs", high=float(np.sort(costs_of(SPACE, ALL))[19]))
    task = SearchProblem(SPACE, (ACC,), (window,))
    inside = {tuple(a) for a in ALL[task.feasible(ALL)].tolist()}
    drawn = Counter(map(tuple, task.sample(np.random.default_rng(0), 100 * len(inside)).tolist()))
    assert set(drawn) == inside
    chi_square = sum((n - 100) ** 2 / 100 for n in drawn.values())
    assert chi_square < len(inside) + 4 * (2 * len(inside)) ** 0.5


def test_looked_up_latency_is_cheap_too(slowness: LayerCost) -> None:
    layer_cost = slowness
    latency = costs_of(SPACE, ALL, layer_cost) / 1000
    limit = Constraint("latency/ms", high=float(np.quantile(latency, 0.3)))
    task = SearchProblem(
        SPACE, (ACC, Objective("latency/ms", False)), (Constraint("cost/macs", high=60e6), limit), layer_cost=layer_cost
    )
    assert task.cheap == task.constraints
    expected = (costs_of(SPACE, ALL) <= 60e6) & (latency <= limit.high)
    assert (task.feasible(ALL) == expected).all()
    drawn = task.sample(np.random.default_rng(0), 200)
    assert {tuple(a) for a in drawn.tolist()} <= {tuple(a) for a in ALL[expected].tolist()}
    assert SearchProblem(SPACE, (ACC,), (limit,)).cheap == ()  # without a price it is evaluated like any other metric


def test_an_empty_window_names_the_constraint() -> None:
    for among in (None, ALL[:10]):
        task = SearchProblem(SPACE, (ACC,), (Constraint("cost/macs", high=1000),), among)
        with pytest.raises(BudgetError, match="macs<=1K"):
            task.sample(np.random.default_rng(0), 1)


def test_a_task_among_few_architectures() -> None:
    some = ALL[::500]
    task = SearchProblem(SPACE, (ACC,), (Constraint("cost/macs", high=1e8),), some)
    inside = {tuple(a) for a in some[costs_of(SPACE, some) <= 1e8].tolist()}
    assert {tuple(a) for a in task.sample(np.random.default_rng(0), 200).tolist()} == inside
    assert {tuple(a) for a in ALL[task.feasible(ALL)].tolist()} == inside


def test_verdicts_name_the_reason() -> None:
    task = SearchProblem(SPACE, (ACC, MACS), (Constraint("valid/accuracy", 50), Constraint("cost/macs", high=9)))
    assert task.verdict({"valid/accuracy": 60, "cost/macs": 9}) == ("ok", "")
    assert task.verdict({"valid/accuracy": 10, "cost/macs": 10})[1].startswith("cost/macs<=9")  # the cheap one first
    assert task.verdict({"valid/accuracy": 10, "cost/macs": 5}) == ("infeasible", "valid/accuracy>=50 does not hold")
    assert task.verdict({"valid/accuracy": float("nan"), "cost/macs": 5})[0] == "failed"
    assert task.verdict({"cost/macs": 5}) == ("failed", "valid/accuracy is not a finite number")


def test_better_is_value_or_dominance() -> None:
    one, two = SearchProblem(SPACE, (ACC,)), SearchProblem(SPACE, (ACC, MACS))
    good, cheap, poor = trial(90, 9), trial(80, 5), trial(80, 9)
    assert one.better(good, cheap)
    assert not one.better(poor, cheap)  # equal
    assert not two.better(good, cheap)
    assert two.better(good, poor)
    assert two.better(cheap, poor)
    assert not one.better(trial(99, 1, "infeasible"), poor)
    assert one.better(poor, trial(99, 1, "infeasible"))
    assert two.best_first([poor, good])[0] is good


def test_trials_survive_json() -> None:
    t = Trial((1, 2), {"cost/macs": 5e6, "valid/accuracy": 1 / 3, "latency/ms": float("nan")}, "failed", "no latency")
    record = t.to_json()
    assert record["metrics"] == {"cost/macs": 5_000_000, "valid/accuracy": 1 / 3, "latency/ms": None}
    assert type(record["metrics"]["cost/macs"]) is int
    again = Trial.from_json(record)
    assert again.to_json() == record
    assert again.arch == t.arch


def test_fill_gives_new_networks_only_and_gives_up() -> None:
    task = SearchProblem(SPACE, (ACC,))
    seen: set[Arch] = set()
    rng = np.random.default_rng(0)
    first = fill(task, 50, seen, lambda n: task.sample(rng, n))
    assert len({SPACE.canonical(a) for a in first}) == 50
    same = np.array([[2, 2, 2, 1, 2, 2, 0, 2]] * 5, dtype=np.int8)
    assert fill(task, 5, seen, lambda n: same) == [tuple(same[0].tolist())]
    assert fill(task, 5, seen, lambda n: same) == []
    commuted = np.array([[2, 2, 2, 1, 2, 2, 2, 0]], dtype=np.int8)  # the same network
    assert fill(task, 1, seen, lambda n: commuted) == []
