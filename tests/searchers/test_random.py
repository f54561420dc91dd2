from __future__ import annotations

from collections.abc import Callable

from supernetic.objective import Constraint
from supernetic.searchers import Trial
from supernetic.searchers.random import RandomSearch


def test_no_network_twice_and_all_within_the_budget(run_on: Callable[..., list[Trial]]) -> None:
    limit = Constraint("cost/macs", high=50e6)
    trials = run_on(RandomSearch(), "nasbench201", 500, where=(limit,))
    assert len({t.arch for t in trials}) == len(trials) == 500
    assert all(t.ok and t.metrics["cost/macs"] <= 50e6 for t in trials)


def test_it_exhausts_a_small_space(run_on: Callable[..., list[Trial]]) -> None:
    trials = run_on(RandomSearch(), "macro", 10_000)
    assert 0.95 * 3969 < len(trials) <= 3969  # distinct networks; the last ones are rarely drawn
