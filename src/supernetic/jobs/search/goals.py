"""What a search is for (objectives, limits, presets), how far it is, and the front that it found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Any, TypeVar

import numpy as np

from ... import catalog, pareto
from ...errors import InputError, UnknownNameError
from ...objective import Constraint, Objective, parse_objective, parse_where, resolve
from ...result import Result
from ...runs.directory import Run
from ...searchers import Searcher, SearchProblem, Trial
from ...searchers.nsga2 import NSGA2
from ...space import Arch, Space
from ...text import columns

T = TypeVar("T", Objective, Constraint)
PROGRESS_EVALUATIONS = 50  # evaluations between two lines of progress of a searcher without a population
SCORE = "SCORE"  # stands in presets for the score that is searched for


@dataclass(frozen=True)
class Preset:
    """Settings that a paper used; SCORE stands for the score that is searched for."""

    objectives: tuple[str, ...]
    where: tuple[str, ...]
    searcher: Searcher


PRESETS = {
    "scarlet": Preset(
        (f"max {SCORE}", "min cost/macs", "max cost/params"),
        (f"{SCORE} > 40%", "cost/macs < 500M"),
        NSGA2(population=70, generations=120, weights=(0.4, 0.4, 0.2)),
    )
}


@dataclass(frozen=True)
class Goals:
    """Objectives and constraints with full names, and the searcher."""

    objectives: tuple[Objective, ...]
    where: tuple[Constraint, ...]
    searcher: Searcher


def resolve_goals(
    names: Sequence[str],
    objectives: Sequence[str | Objective],
    where: Sequence[str | Constraint],
    searcher: str | Searcher,
    preset: str | None,
    score: Callable[[], Objective],
) -> Goals:
    """Complete what the user gives.

    Args:
        names: Full names of all metrics that can be searched for.
        objectives: As text or parsed; none: the score and MACs.
        where: Limits, as text or parsed.
        searcher: A name or a searcher.
        preset: A paper's settings, which take the place of objectives and searcher.
        score: The objective that is searched for by default, beside MACs.

    Returns:
        Objectives and limits with full names, and the searcher.
    """
    goals = [_named(parse_objective(o) if isinstance(o, str) else o, names) for o in objectives]
    limits = [_named(parse_where(w) if isinstance(w, str) else w, names) for w in where]
    engine = catalog.searcher(searcher)
    fallback: tuple[str, ...] = ()
    if preset is not None:
        if preset not in PRESETS:
            raise UnknownNameError("preset", preset, PRESETS)
        if len(goals) > 1:
            raise InputError(f"the preset {preset} has its own objectives: give at most the score, got {len(goals)}")
        settings = PRESETS[preset]
        name = goals[0].name if goals else score().name
        goals = [parse_objective(o.replace(SCORE, name)) for o in settings.objectives]
        fallback, engine = tuple(w.replace(SCORE, name) for w in settings.where), settings.searcher
    goals = goals or [score(), Objective("cost/macs", False)]
    every = [o.name for o in goals]
    for name in every:
        if every.count(name) > 1:
            raise InputError(f"each objective must be another metric, got {name} twice")
    limited = {c.name for c in limits}
    limits += [c for c in map(parse_where, fallback) if c.name not in limited]
    return Goals(tuple(goals), tuple(limits), engine)


def _named(item: T, names: Sequence[str]) -> T:
    """The same with its metric's full name."""
    if item.name.startswith("test/"):
        raise InputError(f"{item.name} is test data: it may be reported, not searched on")
    return dataclasses.replace(item, name=resolve(item.name, names))


def with_sizes(
    engine: Searcher, population: int | None, generations: int | None, weights: Sequence[float], n: int
) -> Searcher:
    """Give a searcher other settings.

    Args:
        engine: The searcher.
        population: Population size; None: the searcher's own.
        generations: Generations; None: the searcher's own.
        weights: Of the objectives; empty: the searcher's own.
        n: The number of objectives.

    Returns:
        The searcher. A setting that it does not have is refused.
    """
    given: dict[str, Any] = {"population": population, "generations": generations, "weights": tuple(weights) or None}
    settings: Any = engine
    for name, value in given.items():
        if value is not None:
            if not hasattr(engine, name):
                raise InputError(f"the searcher {type(engine).__name__} has no {name}, got {value}")
            settings = dataclasses.replace(settings, **{name: value})
    used = getattr(settings, "weights", ())
    if used and (len(used) != n or not all(0 <= weight < inf for weight in used) or max(used) <= 0):
        raise InputError(f"weights must be {n} numbers >= 0 and finite, one per objective, not all 0; got {list(used)}")
    sized: Searcher = settings
    return sized


def searcher_record(searcher: Searcher) -> dict[str, Any]:
    """A searcher's name and settings; one of the user's own that is no dataclass has only a name."""
    fields: Any = searcher
    settings: dict[str, Any] = dataclasses.asdict(fields) if dataclasses.is_dataclass(searcher) else {}
    return {"name": type(searcher).__name__, **settings}


# --- on the way -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HypervolumeReference:
    """What fronts are measured with: the reference point, and the true front's hypervolume where it is known."""

    reference: tuple[float, ...]  # to be minimised, like points
    hypervolume: float | None = None


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


def reporter(
    task: SearchProblem,
    volume_reference: Callable[[Sequence[Trial]], HypervolumeReference],
    engine: Searcher,
    send: Callable[[Generation], None],
) -> Callable[[Sequence[Trial]], None]:
    """Report the progress of a search.

    Args:
        task: The search problem.
        volume_reference: From all trials so far, the reference of hypervolumes; it may depend on the first trials.
        engine: The searcher, whose population is the interval between two reports.
        send: Receives the reports.

    Returns:
        A callback for `run_search`.
    """
    step, reported = getattr(engine, "population", PROGRESS_EVALUATIONS), [0]
    number = count(1)

    def report(trials: Sequence[Trial]) -> None:
        if len(trials) - reported[0] < step:
            return
        points = task.points([t for t in trials if t.ok])
        best = float(points[:, 0].min(initial=np.inf)) * (-1 if task.objectives[0].maximise else 1)
        volume = pareto.hypervolume(points, volume_reference(trials).reference)
        skips = skip_ratio(task.space, [t.arch for t in trials[reported[0] :]])
        reported[0] = len(trials)
        send(Generation(next(number), len(trials), len(pareto.front(points)), volume, best, skips))

    return report


def skip_ratio(space: Space, archs: Sequence[Arch]) -> float:
    """Share of the body's layers that only pass their input on, over all networks."""
    body = [x for a in archs for x in space.blueprint(a) if x.stage and x.kind != "join"]
    return sum(x.kind == "skip" for x in body) / max(len(body), 1)


# --- the result -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableSearchResult(Result):
    """The result. `front` is sorted by its cheapest objective, `chosen` are `keep` of it, equally spaced."""

    run: str
    space: str
    searcher: dict[str, Any]
    objectives: tuple[str, ...]
    where: tuple[str, ...]
    allow_test_columns: bool
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
            *columns([["", *(n.rpartition("/")[2] for n in names), "architecture"], *rows]),
            "",
            f"* chosen; everything is in {self.run}",
        ]


def result_of(
    task: SearchProblem,
    volume_reference: HypervolumeReference,
    trials: Sequence[Trial],
    run: Run,
    settings: Mapping[str, Any],
    keep: int,
) -> TableSearchResult:
    """Summarise a search.

    Args:
        task: The search problem.
        volume_reference: The reference of the hypervolume.
        trials: All evaluations.
        run: The run.
        settings: Those of the run.
        keep: Architectures to choose on the front.

    Returns:
        The front of the trials, and the chosen ones.
    """
    good = [t for t in trials if t.ok]
    front = [good[i] for i in pareto.front(task.points(good))]
    along = next((o for o in task.objectives if o.name.startswith(("cost/", "latency/"))), task.objectives[-1])
    front.sort(key=lambda t: (t.metrics[along.name], t.arch))
    chosen = pareto.equispaced([t.metrics[along.name] for t in front], keep)
    records = tuple({"arch": t.arch, "name": task.space.name_of(t.arch), **_numbers(t)} for t in front)
    points = task.points(front)
    volume = pareto.hypervolume(points, volume_reference.reference)
    reference = [-v if o.maximise else v for o, v in zip(task.objectives, volume_reference.reference, strict=True)]
    statuses = [t.status for t in trials]
    return TableSearchResult(
        run=str(run.path),
        space=task.space.name,
        searcher=settings["searcher"],
        objectives=tuple(settings["objectives"]),
        where=tuple(map(str, task.constraints)),
        allow_test_columns=settings.get("allow_test_columns", False),
        seed=settings["seed"],
        evaluations=len(trials),
        trials={s: statuses.count(s) for s in ("ok", "infeasible", "failed")},
        front=records,
        chosen=tuple(records[i] for i in chosen),
        hypervolume=volume,
        reference={o.name: v for o, v in zip(task.objectives, reference, strict=True)},
        true_share=volume / volume_reference.hypervolume if volume_reference.hypervolume else None,
    )


def _numbers(trial: Trial) -> dict[str, Any]:
    return {"metrics": trial.to_json()["metrics"]}


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if abs(value) < 1e4 else f"{value:.6g}"
