"""A generation of NSGA-II, ours against pymoo's, on the same table problem (NAS-Bench-201: accuracy and MACs).

Ratios come from one run: medians of interleaved pairs of whole searches of a few generations, process time, divided by
the number of generations. Both look the table up in one vectorised call per generation and drop duplicates.
"""

from __future__ import annotations

import statistics
from time import process_time

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2 as PymooNSGA2
from pymoo.core.problem import Problem
from pymoo.operators.crossover.ux import UniformCrossover
from pymoo.operators.mutation.pm import PM
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import IntegerRandomSampling
from pymoo.optimize import minimize

from supernetic.benchmarks import Table
from supernetic.benchmarks.nasbench201 import load
from supernetic.costs import costs_of
from supernetic.evaluators import CombinedEvaluator, CostEvaluator, TableEvaluator
from supernetic.objective import Objective
from supernetic.searchers import SearchProblem, run_search
from supernetic.searchers.nsga2 import NSGA2

SCORE = "c10_valid_200"


class TableProblem(Problem):  # type: ignore[misc]
    def __init__(self, table: Table) -> None:
        super().__init__(n_var=6, n_obj=2, xl=0, xu=4, vtype=int)
        self.table = table

    def _evaluate(self, x: np.ndarray, out: dict[str, np.ndarray], *args: object, **kwargs: object) -> None:
        archs = x.astype(np.int8)
        out["F"] = np.column_stack([-self.table.lookup(archs, SCORE), costs_of(self.table.space, archs)])


def pymoo_search(table: Table, population: int, generations: int, seed: int) -> None:
    algorithm = PymooNSGA2(
        pop_size=population,
        sampling=IntegerRandomSampling(),
        crossover=UniformCrossover(),
        mutation=PM(eta=3, vtype=float, repair=RoundingRepair()),
        eliminate_duplicates=True,
    )
    minimize(TableProblem(table), algorithm, ("n_gen", generations), seed=seed, verbose=False)


def our_search(table: Table, population: int, generations: int, seed: int) -> None:
    evaluate = CombinedEvaluator((CostEvaluator(table.space, ("cost/macs",)), TableEvaluator(table, (SCORE,))))
    task = SearchProblem(table.space, (Objective(f"table/{SCORE}", True), Objective("cost/macs", False)))
    run_search(NSGA2(population, generations), task, evaluate, seed=seed)


def main() -> None:
    table = load()
    for population, generations, pairs in ((70, 20, 9), (1000, 5, 7)):
        seconds: dict[str, list[float]] = {"ours": [], "pymoo": []}
        for seed in range(pairs + 1):
            for name, search in (("ours", our_search), ("pymoo", pymoo_search)):
                start = process_time()
                search(table, population, generations, seed)
                if seed:  # the first pair warms up
                    seconds[name].append((process_time() - start) / generations)
        ours, theirs = (statistics.median(seconds[n]) for n in ("ours", "pymoo"))
        ratio = statistics.median(b / a for a, b in zip(seconds["ours"], seconds["pymoo"], strict=True))
        print(
            f"population {population}: {1e3 * ours:.1f} ms a generation, pymoo {1e3 * theirs:.1f} ms: "
            f"ours is {ratio:.1f} times as fast (median of {pairs} interleaved pairs)"
        )


if __name__ == "__main__":
    main()
