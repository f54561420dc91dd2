"""NSGA-II on NAS-Bench-201 (accuracy up, MACs down): `python nsga2_work.py ours|pymoo|optuna TABLE.npz SEEDS...`.

All look numbers up in the same arrays. Prints the CPU time of each whole search, and its points, for their hypervolume.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

POPULATION, GENERATIONS = 70, 20
GENES, OPTIONS = 6, 5
WEIGHTS = OPTIONS ** np.arange(GENES)[::-1]
Points = list[list[float]]


def ours(values: Any, seed: int) -> Points:
    from supernetic import catalog
    from supernetic.objective import Objective
    from supernetic.searchers import SearchProblem, run_search
    from supernetic.searchers.nsga2 import NSGA2

    class Lookup:
        metrics = ("score", "macs")
        test: frozenset[str] = frozenset()

        def __call__(self, archs: Any) -> list[dict[str, float]]:
            rows = values[np.array(archs) @ WEIGHTS]
            return [{"score": float(-row[0]), "macs": float(row[1])} for row in rows]

    task = SearchProblem(catalog.space("nasbench201"), (Objective("score", True), Objective("macs", False)))
    trials = run_search(NSGA2(POPULATION, GENERATIONS), task, Lookup(), seed=seed)
    return [[-t.metrics["score"], t.metrics["macs"]] for t in trials]


def pymoo(values: Any, seed: int) -> Points:
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.ux import UniformCrossover
    from pymoo.operators.mutation.pm import PM
    from pymoo.operators.repair.rounding import RoundingRepair
    from pymoo.operators.sampling.rnd import IntegerRandomSampling
    from pymoo.optimize import minimize

    seen: Points = []

    class Cells(Problem):  # type: ignore[misc]
        def _evaluate(self, x: Any, out: dict[str, Any], *_: object, **__: object) -> None:
            out["F"] = values[x.astype(int) @ WEIGHTS]
            seen.extend(out["F"].tolist())

    algorithm = NSGA2(
        pop_size=POPULATION,
        sampling=IntegerRandomSampling(),
        crossover=UniformCrossover(),
        mutation=PM(eta=3, vtype=float, repair=RoundingRepair()),
        eliminate_duplicates=True,
    )
    minimize(Cells(n_var=GENES, n_obj=2, xl=0, xu=OPTIONS - 1, vtype=int), algorithm, ("n_gen", GENERATIONS), seed=seed)
    return seen


def optuna(values: Any, seed: int) -> Points:
    import optuna as package

    package.logging.set_verbosity(package.logging.WARNING)
    seen: Points = []

    def objective(trial: Any) -> tuple[float, ...]:
        genes = [trial.suggest_categorical(f"edge{i}", list(range(OPTIONS))) for i in range(GENES)]
        seen.append(values[np.array(genes) @ WEIGHTS].tolist())
        return tuple(seen[-1])

    sampler = package.samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
    study = package.create_study(directions=["minimize", "minimize"], sampler=sampler)
    study.optimize(objective, n_trials=POPULATION * GENERATIONS)
    return seen


def main() -> None:
    search: Callable[[Any, int], Points] = {"ours": ours, "pymoo": pymoo, "optuna": optuna}[sys.argv[1]]
    values = np.load(sys.argv[2])["values"]  # minus the accuracy, and MACs, by the number of the cell
    search(values, 0)  # imports, and whatever is prepared once
    found = []
    for seed in map(int, sys.argv[3:]):
        begin = process_time()
        points = search(values, seed)
        found.append({"seconds": process_time() - begin, "points": points})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
