"""What every searcher is tried on: NAS-Bench-201's and NAS-Bench-Macro's tables."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from supernetic.benchmarks import macro, nasbench201
from supernetic.evaluators import CombinedEvaluator, CostEvaluator, TableEvaluator
from supernetic.objective import Constraint, Objective
from supernetic.searchers import Searcher, SearchProblem, Trial, run_search

Search = Callable[..., list[Trial]]
SCORES = {"nasbench201": "c10_valid_200", "macro": "mean_acc"}


@pytest.fixture(scope="session")
def run_on() -> Search:
    """run_on(searcher, table name, budget, seed, macs=bool, where=constraints) -> trials."""

    def search(
        searcher: Searcher,
        name: str,
        budget: int,
        seed: int = 0,
        *,
        macs: bool = False,
        where: tuple[Constraint, ...] = (),
    ) -> list[Trial]:
        table = {"nasbench201": nasbench201, "macro": macro}[name].load()
        evaluate = CombinedEvaluator((CostEvaluator(table.space), TableEvaluator(table, (SCORES[name],))))
        goals = (Objective(f"table/{SCORES[name]}", True), Objective("cost/macs", False))
        return run_search(
            searcher, SearchProblem(table.space, goals[: 1 + macs], where), evaluate, seed=seed, budget=budget
        )

    return search
