"""`search`: the best architectures of a space under budgets, on a benchmark table."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .. import catalog, pareto
from ..benchmarks import Table
from ..errors import BudgetError, InputError, UnknownNameError
from ..evaluators import CostEvaluator, Evaluator, TableEvaluator, Together
from ..evaluators.cost import COSTS
from ..objective import Constraint, Objective, combine, parse_objective, parse_where, resolve
from ..run import Run
from ..searchers import Searcher, Task, Trial, drive
from ..searchers.nsga2 import NSGA2
from ..space import Arch, SequentialSpace, Space
from .place import place
from .told import Told

T = TypeVar("T", Objective, Constraint)
EVALUATIONS = 1000  # of searchers that never end by themselves
CLASSES = {"CIFAR-10": 10, "CIFAR-100": 100, "ImageNet16-120": 120}
SAMPLED = 2000  # rows that stand for a table whose costs are slow to compute
STEP = 50  # evaluations between two lines of progress of a searcher without a population


@dataclass(frozen=True)
class Preset:
    """Settings that a paper used; SCORE stands for the score that is searched for."""

    objectives: tuple[str, ...]
    where: tuple[str, ...]
    searcher: Searcher


PRESETS = {
    "scarlet": Preset(
        ("max SCORE", "min cost/macs", "max cost/params"),
        ("SCORE > 40%", "cost/macs < 500M"),
        NSGA2(population=70, generations=120, weights=(0.4, 0.4, 0.2)),
    )
}


@dataclass(frozen=True)
class Generation:
    """How far a search is; as text, one line."""

    number: int
    evaluations: int
    front: int
    hypervolume: float
    best: float  # of the first objective
    skips: float  # share of skipped layers in this generation's networks

    def __str__(self) -> str:
        return (
            f"generation {self.number}: {self.evaluations} evaluations, front {self.front}, "
            f"hypervolume {self.hypervolume:.6g}, best {self.best:.6g}, skips {self.skips:.0%}"
        )


@dataclass(frozen=True)
class SearchResult(Told):
    """What was found. `front` is sorted by its cheapest objective, `chosen` are `keep` of it, equally spaced."""

    run: str
    space: str
    searcher: dict[str, Any]
    objectives: tuple[str, ...]
    where: tuple[str, ...]
    oracle: bool
    seed: int
    evaluations: int
    trials: dict[str, int]  # how many were ok, infeasible, failed
    front: tuple[dict[str, Any], ...]
    chosen: tuple[dict[str, Any], ...]
    hypervolume: float
    reference: dict[str, float]  # the worst value of each objective among what the constraints allow
    true_share: float | None  # hypervolume over that of the table's true front

    def lines(self) -> list[str]:
        """A summary for people; chosen models are starred."""
        limits = f" where {' and '.join(self.where)}" if self.where else ""
        share = "" if self.true_share is None else f", {self.true_share:.2%} of the true front's"
        names = list(dict.fromkeys([*self.reference, *(n for r in self.front for n in r["metrics"])]))
        starred = [r["arch"] for r in self.chosen]
        rows = [
            ["*" if r["arch"] in starred else "", *(_shown(r["metrics"].get(n)) for n in names), r["name"]]
            for r in self.front
        ]
        return [
            f"{self.space}: {', '.join(self.objectives)}{limits}",
            f"{self.evaluations:,} evaluations by {self.searcher['name']}: a front of {len(self.front)}, "
            f"hypervolume {self.hypervolume:.6g}{share}",
            "",
            *_columns([["", *(n.rpartition("/")[2] for n in names), "architecture"], *rows]),
            "",
            f"* chosen; everything is in {self.run}",
        ]


def search(
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
    oracle: bool = False,
    seed: int = 0,
    out: str | Path | None = None,
    progress: Callable[[Generation], None] | None = None,
) -> SearchResult:
    """Search a benchmark table: a bundled one by name, a file (then `space` says what its rows mean), or an object.

    By default: the best score and the least MACs, where the score is the table's first column that is no test data.
    An accuracy that is maximised has to be at least twice chance, unless `where` says otherwise. Test columns are
    refused unless `oracle` says that this is a study of the searcher. `without` masks operations. A run that exists
    with the same settings is resumed; `runs/<date>-<space>` is the default place.
    """
    for name, value, least in (("keep", keep, 1), ("evaluations", evaluations, 1), ("population", population, 2)):
        _at_least(name, value, least)
    _at_least("generations", generations, 1)
    _at_least("seed", seed, 0)
    full = _open(table, space).restrict(without)
    goals, limits, engine = _settled(full, objectives, where, searcher, preset, oracle)
    engine = _adjusted(engine, population, generations, weights, len(goals))
    budget = EVALUATIONS if evaluations is None and engine.endless else evaluations
    evaluate = _evaluator(full, [*goals, *limits])
    partial = len(full) < full.space.size
    task = Task(full.space, goals, limits, full.archs if partial else None)
    task.sample(np.random.default_rng(seed), 1)  # a budget that holds nothing is known before anything is written
    yardstick = _yardstick(task, full, evaluate)
    settings = _settings(full, task, engine, budget, oracle, seed)
    with place(out, full.space.name, settings) as run:
        report = _reporter(task, yardstick, engine, progress) if progress else None
        trials = drive(engine, task, evaluate, run, seed=seed, budget=budget, progress=report)
        result = _result(task, yardstick, trials, run, settings, keep)
        run.write("result.json", json.dumps(result.to_json(), indent=1) + "\n")
    return result


# --- what is asked for ------------------------------------------------------------------------------------------------


def _at_least(name: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise InputError(f"{name} must be at least {least}, got {value}")


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
    oracle: bool,
) -> tuple[tuple[Objective, ...], tuple[Constraint, ...], Searcher]:
    """Objectives and constraints with full names, and the searcher."""
    names = [*COSTS, *(f"table/{c}" for c in table.columns)]
    goals = [_named(parse_objective(o) if isinstance(o, str) else o, names) for o in objectives]
    limits = [_named(parse_where(w) if isinstance(w, str) else w, names) for w in where]
    engine = catalog.load("searcher", catalog.SEARCHERS, searcher)() if isinstance(searcher, str) else searcher
    fallback: tuple[str, ...] = ()
    if preset is not None:
        if preset not in PRESETS:
            raise UnknownNameError("preset", preset, PRESETS)
        if len(goals) > 1:
            raise InputError(f"the preset {preset} has its own objectives: give at most the score, got {len(goals)}")
        made = PRESETS[preset]
        score = goals[0].name if goals else _score(table, oracle)
        goals = [parse_objective(o.replace("SCORE", score)) for o in made.objectives]
        fallback, engine = tuple(w.replace("SCORE", score) for w in made.where), made.searcher
    goals = goals or [Objective(_score(table, oracle), True), Objective("cost/macs", False)]
    _distinct(goals)
    said = {c.name for c in limits}
    limits += [c for c in map(parse_where, fallback) if c.name not in said]
    limits += [c for c in _floors(table, goals) if c.name not in {c.name for c in limits}]
    if not oracle:
        _refuse_test(table, [*goals, *limits])
    return tuple(goals), tuple(combine(limits).values()), engine


def _named(item: T, names: Sequence[str]) -> T:
    """The same with its metric's full name."""
    if item.name.startswith("test/"):
        raise InputError(f"{item.name} is test data: it may be reported, not searched on")
    return dataclasses.replace(item, name=resolve(item.name, names))


def _score(table: Table, oracle: bool) -> str:
    """The column that is searched for by default: the first accuracy, else the first column."""
    columns = [n for n, c in table.columns.items() if oracle or not c.is_test]
    if not columns:
        raise InputError(f"the table of {table.space.name} holds only test data: --oracle allows a study of searchers")
    return "table/" + next((n for n in columns if table[n].unit == "%"), columns[0])


def _distinct(goals: Sequence[Objective]) -> None:
    names = [o.name for o in goals]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"each objective must be another metric, got {name} twice")


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
                f"--oracle allows it for a study of the searcher, and the run records it"
            )


def _adjusted(
    engine: Searcher, population: int | None, generations: int | None, weights: Sequence[float], n: int
) -> Searcher:
    """The searcher with the settings that were given."""
    given: dict[str, Any] = {"population": population, "generations": generations, "weights": tuple(weights) or None}
    settings: Any = engine
    for name, value in given.items():
        if value is not None:
            if not hasattr(engine, name):
                raise InputError(f"the searcher {type(engine).__name__} has no {name}, got {value}")
            settings = dataclasses.replace(settings, **{name: value})
    used = getattr(settings, "weights", ())
    if used and (len(used) != n or min(used) < 0 or max(used) <= 0):
        raise InputError(f"weights must be {n} numbers >= 0, one per objective, not all 0; got {list(used)}")
    made: Searcher = settings
    return made


def _evaluator(table: Table, items: Sequence[Objective | Constraint]) -> Evaluator:
    """MACs and parameters always, and whatever is asked for."""
    wanted = dict.fromkeys(item.name for item in items)
    costs = tuple(c for c in COSTS if c in wanted or c != "cost/peak")
    columns = tuple(n.removeprefix("table/") for n in wanted if n.startswith("table/"))
    return Together((CostEvaluator(table.space, costs), TableEvaluator(table, columns)))


# --- the run ----------------------------------------------------------------------------------------------------------


def _settings(
    table: Table, task: Task, engine: Searcher, budget: int | None, oracle: bool, seed: int
) -> dict[str, Any]:
    used = [n.removeprefix("table/") for n in _metric_names(task) if n.startswith("table/")]
    digest = hashlib.sha256(table.archs.tobytes())
    for name in sorted(used):
        digest.update(name.encode() + table[name].values.tobytes())
    return {
        "job": "search",
        "seed": seed,
        "oracle": oracle,
        "evaluations": budget,
        "objectives": [str(o) for o in task.objectives],
        "space": {"name": table.space.name, "fingerprint": table.space.fingerprint},
        "table": {"rows": len(table), "fingerprint": digest.hexdigest()[:16]},
        "searcher": _engine_record(engine),
        "where": [dataclasses.asdict(c) for c in task.constraints],
    }


def _metric_names(task: Task) -> list[str]:
    return list(dict.fromkeys([o.name for o in task.objectives] + [c.name for c in task.constraints]))


def _engine_record(engine: Searcher) -> dict[str, Any]:
    record: Any = engine
    return {"name": type(engine).__name__, **dataclasses.asdict(record)}


# --- what was found ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Yardstick:
    """What a table says in advance: the reference point, and the true front's hypervolume where all rows are known."""

    reference: tuple[float, ...]  # to be minimised, like points
    hypervolume: float | None


def _yardstick(task: Task, table: Table, evaluate: Evaluator) -> Yardstick:
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
    return Yardstick(reference, pareto.hypervolume(points, reference) if every else None)


def _reporter(
    task: Task, yardstick: Yardstick, engine: Searcher, progress: Callable[[Generation], None]
) -> Callable[[Sequence[Trial]], None]:
    """A line whenever a population's worth of evaluations was made."""
    step, told = getattr(engine, "population", STEP), [0]
    number = count(1)

    def report(trials: Sequence[Trial]) -> None:
        if len(trials) - told[0] < step:
            return
        good = [t for t in trials if t.ok]
        points = task.points(good)
        first = task.objectives[0]
        best = float(points[:, 0].min(initial=np.inf)) * (-1 if first.maximise else 1)
        volume = pareto.hypervolume(points, yardstick.reference)
        skips = skip_ratio(task.space, [t.arch for t in trials[told[0] :]])
        told[0] = len(trials)
        progress(Generation(next(number), len(trials), len(pareto.front(points)), volume, best, skips))

    return report


def skip_ratio(space: Space, archs: Sequence[Arch]) -> float:
    """Share of the body's layers that only pass their input on, over all networks."""
    body = [x for a in archs for x in space.blueprint(a) if x.stage and x.kind != "join"]
    return sum(x.kind == "skip" for x in body) / max(len(body), 1)


def _result(
    task: Task, yardstick: Yardstick, trials: Sequence[Trial], run: Run, settings: Mapping[str, Any], keep: int
) -> SearchResult:
    good = [t for t in trials if t.ok]
    front = [good[i] for i in pareto.front(task.points(good))]
    along = next((o for o in task.objectives if o.name.startswith("cost/")), task.objectives[-1])
    front.sort(key=lambda t: (t.metrics[along.name], t.arch))
    chosen = pareto.equispaced([t.metrics[along.name] for t in front], keep)
    records = tuple({"arch": t.arch, "name": task.space.name_of(t.arch), **_numbers(t)} for t in front)
    points = task.points(front)
    volume = pareto.hypervolume(points, yardstick.reference)
    reference = [-v if o.maximise else v for o, v in zip(task.objectives, yardstick.reference, strict=True)]
    statuses = [t.status for t in trials]
    return SearchResult(
        run=str(run.path),
        space=task.space.name,
        searcher=settings["searcher"],
        objectives=tuple(settings["objectives"]),
        where=tuple(map(str, task.constraints)),
        oracle=settings["oracle"],
        seed=settings["seed"],
        evaluations=len(trials),
        trials={s: statuses.count(s) for s in ("ok", "infeasible", "failed")},
        front=records,
        chosen=tuple(records[i] for i in chosen),
        hypervolume=volume,
        reference={o.name: v for o, v in zip(task.objectives, reference, strict=True)},
        true_share=volume / yardstick.hypervolume if yardstick.hypervolume else None,
    )


def _numbers(trial: Trial) -> dict[str, Any]:
    return {"metrics": trial.to_json()["metrics"]}


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if abs(value) < 1e4 else f"{value:.6g}"


def _columns(rows: list[list[str]]) -> list[str]:
    """Cells right-aligned, the last column left-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(c.rjust(w) for c, w in zip(r[:-1], widths, strict=False)) + "  " + r[-1] for r in rows]
