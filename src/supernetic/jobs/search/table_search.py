"""`search --table`: the best architectures of a space under budgets, on a benchmark table."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import catalog, pareto
from ...benchmarks import Table
from ...errors import BudgetError, InputError
from ...evaluators import CombinedEvaluator, CostEvaluator, Evaluator, TableEvaluator
from ...evaluators.cost import COSTS
from ...objective import Constraint, Objective, combine
from ...progress import Event, OnEvent
from ...runs.directory import naming_damage
from ...runs.files import RESULT
from ...runs.location import open_or_resume
from ...runs.records import SearchRecord, read_json
from ...runs.trust import opens_runs
from ...searchers import Searcher, SearchProblem, run_search
from ...space import Arch, SequentialSpace, Space
from ..request import Request
from ..request_text import Settled, dry_run_line, require_savable, save_request
from .goals import (
    Generation,
    Goals,
    HypervolumeReference,
    TableSearchResult,
    reporter,
    resolve_goals,
    result_of,
    searcher_record,
    with_sizes,
)

DEFAULT_EVALUATIONS = 1000  # of searchers that never end by themselves
CLASS_COUNTS = {"CIFAR-10": 10, "CIFAR-100": 100, "ImageNet16-120": 120}
MAX_SAMPLED_ROWS = 2000  # rows that stand for a table whose costs are slow to compute


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
    trust_code: bool = False,
    on_event: OnEvent | None = None,
) -> TableSearchResult:
    """Search a benchmark table for the best architectures under limits; it takes seconds.

    A run that exists with the same settings is resumed.

    Args:
        table: A bundled table by name, a file, or a table.
        space: What the rows of a file mean.
        without: Operations that are masked.
        objectives: `max NAME` or `min NAME`; by default the best score (the table's first column that is no test
            data) and the least MACs.
        where: Limits. An accuracy that is maximised has to be at least twice chance unless a limit says otherwise.
        searcher: A name or a searcher of your own.
        population: Population size of the searcher.
        generations: Generations of the searcher.
        weights: Of the objectives, for searchers that have them.
        evaluations: Stop after this many.
        preset: `scarlet`: the objectives, weights and limits of SCARLET-NAS.
        keep: Architectures to choose on the front.
        allow_test_columns: Search on test columns, which is a study of the searcher; the run records it.
        seed: Of the searcher.
        out: The run directory, by default `runs/<date>-<space>`.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        on_event: Receives progress.

    Returns:
        The front and the chosen architectures.
    """
    request = TableSearchRequest(
        table, space, without, objectives, where, searcher, population, generations, weights, evaluations, preset, keep,
        allow_test_columns, seed,
    )  # fmt: skip
    return search_table_by(request, out=out, on_event=on_event)


@dataclass(frozen=True)
class TableSearchRequest(Request):
    """The settings of `search_table`."""

    table: str | Path | Table | None = None
    space: str | Space | None = None
    without: Sequence[str] = ()
    objectives: Sequence[str | Objective] = ()
    where: Sequence[str | Constraint] = ()
    searcher: str | Searcher = "nsga2"
    population: int | None = None
    generations: int | None = None
    weights: Sequence[float] = ()
    evaluations: int | None = None
    preset: str | None = None
    keep: int = 5
    allow_test_columns: bool = False
    seed: int = 0

    MINIMUM: ClassVar[Mapping[str, float]] = {
        "keep": 1, "evaluations": 1, "population": 2, "generations": 1, "seed": 0,
    }  # fmt: skip
    LISTS: ClassVar[tuple[str, ...]] = ("without", "objectives", "where", "weights")


def search_table_by(
    request: TableSearchRequest, *, out: str | Path | None = None, on_event: OnEvent | None = None
) -> TableSearchResult:
    """Run the search of a request. It takes seconds, so there is neither a plan nor a page.

    Args:
        request: The settings.
        out: The run directory.
        on_event: Receives progress.

    Returns:
        The front and the chosen architectures.
    """
    table = _open(request.table, request.space).restrict(request.without)
    goals = _goals(table, request)
    searcher = with_sizes(
        goals.searcher, request.population, request.generations, request.weights, len(goals.objectives)
    )
    budget = request.evaluations or (DEFAULT_EVALUATIONS if searcher.needs_budget else None)
    evaluate = _evaluator(table, [*goals.objectives, *goals.where])
    rows = table.archs if len(table) < table.space.size else None
    problem = SearchProblem(table.space, goals.objectives, goals.where, rows)
    problem.sample(np.random.default_rng(request.seed), 1)  # an empty budget is refused before anything is written
    reference = _reference(problem, table, evaluate)
    settings = {**_settings(table, problem, searcher, budget, request), "request": request.record()}
    with open_or_resume(out, table.space.name, settings, uncompared=("request",)) as run:
        if (run.path / RESULT).exists():
            finished = read_result(run.path)
            if len(finished.chosen) == min(request.keep, len(finished.front)):  # else another number was asked for
                return finished
        progress = reporter(problem, lambda _: reference, searcher, _sender(on_event, budget)) if on_event else None
        trials = run_search(searcher, problem, evaluate, run, seed=request.seed, budget=budget, progress=progress)
        result = result_of(problem, reference, trials, run, settings, request.keep)
        run.write(RESULT, json.dumps(result.to_json(), indent=1) + "\n")
    return result


def read_result(path: Path) -> TableSearchResult:
    """The result of a search on a table that came to its end; a file that is damaged is named."""
    record = read_json(path / RESULT)
    with naming_damage(path / RESULT):
        fields = {f.name: record[f.name] for f in dataclasses.fields(TableSearchResult)}
        SearchRecord.from_json(record, path / RESULT)
        lists = {k: tuple(fields[k]) for k in ("objectives", "where")}
        found = {k: tuple({**r, "arch": tuple(r["arch"])} for r in fields[k]) for k in ("front", "chosen")}
        searcher = {k: tuple(v) if isinstance(v, list) else v for k, v in fields["searcher"].items()}
        return TableSearchResult(**{**fields, **lists, **found, "searcher": searcher, "run": str(path)})


@opens_runs
def save_table_search(
    save: str | Path, table: str, *, dry_run: bool, out: str | None = None, trust_code: bool = False, **settings: Any
) -> str:
    """Write the request of a search on a table into a TOML file, once it is known to be possible.

    Args:
        save: The file.
        table: As `search_table` takes it.
        dry_run: Whether this is one; without it the file is refused.
        out: The run directory, which is no part of a request.
        trust_code: As `search_table` takes it.
        **settings: The other arguments of `search_table`.

    Returns:
        A line that says what was written.
    """
    require_savable(save, dry_run)
    request = TableSearchRequest(table=table, **settings)
    goals = _goals(_open(request.table, request.space).restrict(request.without), request)
    settled = {
        "objectives": Settled([str(o) for o in goals.objectives]),
        "where": Settled([str(c) for c in goals.where], "an accuracy has to be at least twice chance"),
    }
    save_request(save, "search", request, search_table, settled)
    return dry_run_line(str(save))


def _sender(on_event: OnEvent, budget: int | None) -> Callable[[Generation], None]:
    def send(generation: Generation) -> None:
        on_event(Event("search", str(generation), done=generation.evaluations, total=budget or 0))

    return send


# --- the request ------------------------------------------------------------------------------------------------------


def _open(table: str | Path | Table | None, space: str | Space | None) -> Table:
    if isinstance(table, Table):
        return table
    if space is None and table is None:
        raise InputError(f"a search needs a table: one of {', '.join(catalog.TABLES)}, or a file and its space")
    of = None if space is None else catalog.space(space)
    return catalog.table(table or (of.name if of else ""), of)


def _goals(table: Table, request: TableSearchRequest) -> Goals:
    """Objectives and limits with full names, and the searcher; test columns only if they are allowed."""
    names, allow = [*COSTS, *(f"table/{c}" for c in table.columns)], request.allow_test_columns
    goals = resolve_goals(
        names, request.objectives, request.where, request.searcher, request.preset,
        lambda: Objective(_score(table, allow), True),
    )  # fmt: skip
    limited = {c.name for c in goals.where}
    limits = [*goals.where, *(c for c in _floors(table, goals.objectives) if c.name not in limited)]
    if not allow:
        _refuse_test(table, [*goals.objectives, *limits])
    return dataclasses.replace(goals, where=tuple(combine(limits).values()))


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
        if o.maximise and column is not None and column.unit == "%" and column.dataset in CLASS_COUNTS:
            yield Constraint(o.name, low=200 / CLASS_COUNTS[column.dataset])


def _refuse_test(table: Table, items: Sequence[Objective | Constraint]) -> None:
    for item in items:
        column = table.columns.get(item.name.removeprefix("table/"))
        if column is not None and column.is_test:
            raise InputError(
                f"{item.name} is test data ({column}) and must not steer a search; "
                f"--allow-test-columns allows it for a study of the searcher, and the run records it"
            )


def _evaluator(table: Table, items: Sequence[Objective | Constraint]) -> Evaluator:
    """MACs and parameters always, and whatever objectives and limits name."""
    needed = dict.fromkeys(item.name for item in items)
    costs = tuple(c for c in COSTS if c in needed or c != "cost/peak")
    columns = tuple(n.removeprefix("table/") for n in needed if n.startswith("table/"))
    return CombinedEvaluator((CostEvaluator(table.space, costs), TableEvaluator(table, columns)))


# --- the run ----------------------------------------------------------------------------------------------------------


def _settings(
    table: Table, problem: SearchProblem, searcher: Searcher, budget: int | None, request: TableSearchRequest
) -> dict[str, Any]:
    used = [n.removeprefix("table/") for n in _metric_names(problem) if n.startswith("table/")]
    digest = hashlib.sha256(table.archs.tobytes())
    for name in sorted(used):
        digest.update(name.encode() + table[name].values.tobytes())
    return {
        "job": "table-search",
        "seed": request.seed,
        "allow_test_columns": request.allow_test_columns,
        "evaluations": budget,
        "objectives": [str(o) for o in problem.objectives],
        "space": {"name": table.space.name, "fingerprint": table.space.fingerprint},
        "table": {"rows": len(table), "fingerprint": digest.hexdigest()[:16]},
        "searcher": searcher_record(searcher),
        "where": [dataclasses.asdict(c) for c in problem.constraints],
    }


def _metric_names(problem: SearchProblem) -> list[str]:
    return list(dict.fromkeys([o.name for o in problem.objectives] + [c.name for c in problem.constraints]))


def _reference(problem: SearchProblem, table: Table, evaluate: Evaluator) -> HypervolumeReference:
    """From the rows that satisfy the constraints; an error if there are none."""
    every = isinstance(table.space, SequentialSpace) or len(table) <= MAX_SAMPLED_ROWS
    rows = np.arange(len(table)) if every else np.linspace(0, len(table) - 1, MAX_SAMPLED_ROWS).astype(np.int64)
    archs: list[Arch] = [tuple(a) for a in table.archs[rows].tolist()]
    good = [m for m in evaluate(archs) if problem.verdict(m)[0] == "ok"]
    if not good:
        limits = " and ".join(map(str, problem.constraints)) or "finite numbers"
        raise BudgetError(f"{table.space.name}: no architecture of the table satisfies {limits}")
    points = pareto.points(good, problem.objectives)
    reference = tuple(points.max(axis=0).tolist())
    return HypervolumeReference(reference, pareto.hypervolume(points, reference) if every else None)
