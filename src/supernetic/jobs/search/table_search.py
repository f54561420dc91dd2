"""`search --table`: the best architectures of a space under budgets, on a benchmark table."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ... import catalog, pareto
from ...benchmarks import Table
from ...errors import BudgetError, InputError
from ...evaluators import CombinedEvaluator, CostEvaluator, Evaluator, TableEvaluator
from ...evaluators.cost import COSTS
from ...objective import Constraint, Objective, combine
from ...runs.location import open_or_resume
from ...runs.request import save_request
from ...runs.trust import opens_runs
from ...searchers import Searcher, SearchProblem, run_search
from ...space import Arch, SequentialSpace, Space
from .goals import (
    Generation,
    HypervolumeReference,
    SearchResult,
    adjusted,
    at_least,
    engine_record,
    reporter,
    result_of,
    settle,
)

EVALUATIONS = 1000  # of searchers that never end by themselves
CLASSES = {"CIFAR-10": 10, "CIFAR-100": 100, "ImageNet16-120": 120}
SAMPLED = 2000  # rows that stand for a table whose costs are slow to compute


@opens_runs
def search_table(
    table: str | Path | Table | None = None,
    *,
    space: str | Space | None = None,
    without: Sequence[str] = (),
    objectives: Sequence[str | Objective] = (),
    where: Sequence[str | Constraint] = (),
    searcher: str | Searcher = "nsga2",
    population: int | None = None,
    generations: int | None = None,
    weights: Sequence[float] = (),
    evaluations: int | None = None,
    preset: str | None = None,
    keep: int = 5,
    allow_test_columns: bool = False,
    seed: int = 0,
    out: str | Path | None = None,
    progress: Callable[[Generation], None] | None = None,
) -> SearchResult:
    """Search a benchmark table: a bundled one by name, a file (then `space` says what its rows mean), or an object.

    By default: the best score and the least MACs, where the score is the table's first column that is no test data.
    An accuracy that is maximised has to be at least twice chance, unless `where` says otherwise. Test columns are
    refused unless `allow_test_columns` says that this is a study of the searcher. `without` masks operations.
    A run that exists with the same settings is resumed; `runs/<date>-<space>` is the default place.
    """
    asked = dict(locals())
    for name, value, least in (("keep", keep, 1), ("evaluations", evaluations, 1), ("population", population, 2)):
        at_least(name, value, least)
    at_least("generations", generations, 1)
    at_least("seed", seed, 0)
    full = _open(table, space).restrict(without)
    goals, limits, engine = _settled(full, objectives, where, searcher, preset, allow_test_columns)
    engine = adjusted(engine, population, generations, weights, len(goals))
    budget = EVALUATIONS if evaluations is None and engine.needs_budget else evaluations
    evaluate = _evaluator(full, [*goals, *limits])
    partial = len(full) < full.space.size
    task = SearchProblem(full.space, goals, limits, full.archs if partial else None)
    task.sample(np.random.default_rng(seed), 1)  # a budget that holds nothing is known before anything is written
    volume_reference = _yardstick(task, full, evaluate)
    settings = _settings(full, task, engine, budget, allow_test_columns, seed)
    with open_or_resume(out, full.space.name, settings) as run:
        save_request(run, asked)
        report = reporter(task, lambda _: volume_reference, engine, progress) if progress else None
        trials = run_search(engine, task, evaluate, run, seed=seed, budget=budget, progress=report)
        result = result_of(task, volume_reference, trials, run, settings, keep)
        run.write("result.json", json.dumps(result.to_json(), indent=1) + "\n")
    return result


# --- what is asked for ------------------------------------------------------------------------------------------------


def _open(table: str | Path | Table | None, space: str | Space | None) -> Table:
    if isinstance(table, Table):
        return table
    if space is None and table is None:
        raise InputError(f"a search needs a table: one of {', '.join(catalog.TABLES)}, or a file and its space")
    of = None if space is None else catalog.space(space)
    return catalog.table(table or (of.name if of else ""), of)


def _settled(
    table: Table,
    objectives: Sequence[str | Objective],
    where: Sequence[str | Constraint],
    searcher: str | Searcher,
    preset: str | None,
    allow_test_columns: bool,
) -> tuple[tuple[Objective, ...], tuple[Constraint, ...], Searcher]:
    """Objectives and constraints with full names, and the searcher."""
    names = [*COSTS, *(f"table/{c}" for c in table.columns)]
    asked = settle(
        names, objectives, where, searcher, preset, lambda: Objective(_score(table, allow_test_columns), True)
    )
    limits = list(asked.where)
    limits += [c for c in _floors(table, asked.objectives) if c.name not in {c.name for c in limits}]
    if not allow_test_columns:
        _refuse_test(table, [*asked.objectives, *limits])
    return asked.objectives, tuple(combine(limits).values()), asked.searcher


def _score(table: Table, allow_test_columns: bool) -> str:
    """The column that is searched for by default: the first accuracy, else the first column."""
    columns = [n for n, c in table.columns.items() if allow_test_columns or not c.is_test]
    if not columns:
        raise InputError(
            f"the table of {table.space.name} holds only test data: --allow-test-columns allows a study of searchers"
        )
    return "table/" + next((n for n in columns if table[n].unit == "%"), columns[0])


def _floors(table: Table, goals: Sequence[Objective]) -> Iterator[Constraint]:
    """Twice chance for every accuracy that is maximised."""
    for o in goals:
        column = table.columns.get(o.name.removeprefix("table/"))
        if o.maximise and column is not None and column.unit == "%" and column.dataset in CLASSES:
            yield Constraint(o.name, low=200 / CLASSES[column.dataset])


def _refuse_test(table: Table, items: Sequence[Objective | Constraint]) -> None:
    for item in items:
        column = table.columns.get(item.name.removeprefix("table/"))
        if column is not None and column.is_test:
            raise InputError(
                f"{item.name} is test data ({column}) and must not steer a search; "
                f"--allow-test-columns allows it for a study of the searcher, and the run records it"
            )


def _evaluator(table: Table, items: Sequence[Objective | Constraint]) -> Evaluator:
    """MACs and parameters always, and whatever is asked for."""
    wanted = dict.fromkeys(item.name for item in items)
    costs = tuple(c for c in COSTS if c in wanted or c != "cost/peak")
    columns = tuple(n.removeprefix("table/") for n in wanted if n.startswith("table/"))
    return CombinedEvaluator((CostEvaluator(table.space, costs), TableEvaluator(table, columns)))


# --- the run ----------------------------------------------------------------------------------------------------------


def _settings(
    table: Table, task: SearchProblem, engine: Searcher, budget: int | None, allow_test_columns: bool, seed: int
) -> dict[str, Any]:
    used = [n.removeprefix("table/") for n in _metric_names(task) if n.startswith("table/")]
    digest = hashlib.sha256(table.archs.tobytes())
    for name in sorted(used):
        digest.update(name.encode() + table[name].values.tobytes())
    return {
        "job": "search",
        "seed": seed,
        "allow_test_columns": allow_test_columns,
        "evaluations": budget,
        "objectives": [str(o) for o in task.objectives],
        "space": {"name": table.space.name, "fingerprint": table.space.fingerprint},
        "table": {"rows": len(table), "fingerprint": digest.hexdigest()[:16]},
        "searcher": engine_record(engine),
        "where": [dataclasses.asdict(c) for c in task.constraints],
    }


def _metric_names(task: SearchProblem) -> list[str]:
    return list(dict.fromkeys([o.name for o in task.objectives] + [c.name for c in task.constraints]))


def _yardstick(task: SearchProblem, table: Table, evaluate: Evaluator) -> HypervolumeReference:
    """From the rows that satisfy the constraints; an error if there are none."""
    every = isinstance(table.space, SequentialSpace) or len(table) <= SAMPLED
    rows = np.arange(len(table)) if every else np.linspace(0, len(table) - 1, SAMPLED).astype(np.int64)
    archs: list[Arch] = [tuple(a) for a in table.archs[rows].tolist()]
    good = [m for m in evaluate(archs) if task.verdict(m)[0] == "ok"]
    if not good:
        limits = " and ".join(map(str, task.constraints)) or "finite numbers"
        raise BudgetError(f"{table.space.name}: no architecture of the table satisfies {limits}")
    points = pareto.points(good, task.objectives)
    reference = tuple(points.max(axis=0).tolist())
    return HypervolumeReference(reference, pareto.hypervolume(points, reference) if every else None)
