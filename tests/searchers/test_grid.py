from __future__ import annotations

from collections.abc import Callable

import pytest

from supernetic.errors import InputError
from supernetic.objective import Constraint
from supernetic.searchers import Trial
from supernetic.searchers.grid import GridSearch, enumerate_archs
from supernetic.spaces.nasbench201 import NASBench201
from supernetic.spaces.scarlet import ScarletS1


def test_every_architecture_once_in_order() -> None:
    space = NASBench201()
    archs = list(enumerate_archs(space, 20_000))
    assert len(archs) == space.size
    assert archs == sorted(set(archs))


def test_a_grid_finds_the_optimum_of_all_that_is_allowed(run_on: Callable[..., list[Trial]]) -> None:
    limit = Constraint("cost/macs", high=20e6)
    trials = run_on(GridSearch(), "nasbench201", 15_625, where=(limit,))
    everything = run_on(GridSearch(), "nasbench201", 15_625)
    assert {t.arch for t in trials} == {t.arch for t in everything if t.metrics["cost/macs"] <= 20e6}
    assert max(t.metrics["table/c10_valid_200"] for t in everything) == pytest.approx(91.6067, abs=1e-4)


def test_a_space_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="lists at most"):
        enumerate_archs(ScarletS1(), 10**7)
