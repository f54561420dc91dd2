"""`optimise`: search a space for the best values of any function, with a run directory that can be resumed.

def evaluate(arch: supernetic.Arch) -> float: ...

result = supernetic.optimise("nasbench201", evaluate, where=["macs<=60M"], budget=200)
result.front.to_frame()
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ... import catalog
from ...errors import InputError, SupernetError
from ...evaluators import CombinedEvaluator, CostEvaluator, Evaluator
from ...evaluators.cost import COSTS
from ...objective import Constraint, Objective, combine, parse_objective, parse_where, resolve
from ...progress import Event, OnEvent, ignore
from ...runs.files import RESULT, TRIALS
from ...runs.location import open_or_resume
from ...runs.space_record import space_of, space_record
from ...searchers import Searcher, SearchProblem, Trial, run_search
from ...space import Arch, Space
from ...trials import Trials
from .function import SCORE, Function, FunctionEvaluator, is_evaluator, record_of
from .result import OptimiseResult

JOB = "optimise"
HOPELESS_FAILURES = 20  # evaluations from the start that all fail, after which the function is taken to be wrong
RESUME_ADVICE = "the same call of `optimise` with out={path!r} goes on"  # after an interruption

T = TypeVar("T", Objective, Constraint)


def optimise(
    space: str | Space,
    evaluate: Function | Evaluator,
    objectives: Sequence[str | Objective] = (),
    where: Sequence[str | Constraint] = (),
    searcher: str | Searcher = "nsga2",
    budget: int = 500,
    seed: int = 0,
    out: str | Path | None = None,
    on_event: OnEvent | None = None,
) -> OptimiseResult:
    """Search a space for architectures with the best values of a function.

    Costs (`macs`, `params`, `peak`) need no function: they can stand in `objectives` and `where` as they are. Every
    evaluation is recorded at once. The same call with the same `out` goes on where it was interrupted. An evaluation
    that raises an exception is recorded as failed, with the reason.

    Args:
        space: a space, its name, or the file that declares it.
        evaluate: a function of one architecture (a tuple of integers) that returns a number, or a dictionary of numbers
            by metric; or an evaluator, which takes many at a time. It should return the same for the same architecture.
        objectives: such as `"max accuracy"`; by default `"max score"` and `"min macs"`. A number without a name is the
            metric `score`.
        where: constraints, such as `"macs<=60M"`; those on costs are checked before anything is evaluated.
        searcher: the name of a searcher, or a searcher with settings of its own.
        budget: the most evaluations.
        seed: of the searcher's draws.
        out: the run directory; by default `runs/<date>-<space>`.
        on_event: receives the progress, and evaluations that fail.

    Returns:
        All trials, and the front among them.
    """
    _at_least("budget", budget, 1)
    _at_least("seed", seed, 0)
    plan = _plan(catalog.space(space), evaluate, objectives, where, searcher)
    plan.task.sample(np.random.default_rng(seed), 1)  # a budget that holds nothing is known before anything is written
    settings = _settings(plan, space, evaluate, budget, seed)
    listener = _Listener(plan.task, budget, on_event or ignore)
    with open_or_resume(out, plan.task.space.name, settings, advice=RESUME_ADVICE) as run:
        listener.succeeded = any(record["status"] != "failed" for record in run.read(TRIALS))
        trials = run_search(
            plan.searcher,
            plan.task,
            plan.evaluate,
            run,
            seed=seed,
            budget=budget,
            chunk=None if is_evaluator(evaluate) else 1,
            progress_by_chunk=listener.evaluated,
            on_failure=listener.failed,
        )
        result = _result(plan, str(run.path), trials, seed)
        run.write(RESULT, json.dumps(result.to_json(), indent=1, allow_nan=False) + "\n")
    return result


@dataclass(frozen=True)
class _Plan:
    task: SearchProblem
    evaluate: Evaluator
    searcher: Searcher


def _plan(
    space: Space,
    evaluate: Function | Evaluator,
    objectives: Sequence[str | Objective],
    where: Sequence[str | Constraint],
    searcher: str | Searcher,
) -> _Plan:
    """Objectives and limits with full names, the searcher and the evaluator."""
    if not callable(evaluate):
        raise InputError(f"evaluate must be a function of an architecture, got {type(evaluate).__name__}")
    own: tuple[str, ...] = tuple(evaluate.metrics) if is_evaluator(evaluate) else ()  # type: ignore[union-attr]
    texts = objectives or (f"max {own[0] if own else SCORE}", "min cost/macs")
    goals = tuple(_named(parse_objective(o) if isinstance(o, str) else o, own) for o in texts)
    limits = tuple(combine(_named(parse_where(w) if isinstance(w, str) else w, own) for w in where).values())
    _check_goals(goals)
    names = list(dict.fromkeys([*(goal.name for goal in goals), *(limit.name for limit in limits)]))
    engine: Searcher = catalog.searcher(searcher)
    return _Plan(SearchProblem(space, goals, limits), _evaluator(space, evaluate, own, names), engine)


def _named(item: T, own: Sequence[str]) -> T:
    """The same with its metric's full name; of a function's metrics nothing is known before its first answer."""
    if item.name.startswith("test/"):
        raise InputError(f"{item.name} is test data: it may be reported, not searched on")
    is_cost = item.name in COSTS or f"cost/{item.name}" in COSTS
    names = [*own, *COSTS] if own or is_cost else [item.name]
    return replace(item, name=resolve(item.name, dict.fromkeys(names)))


def _check_goals(goals: Sequence[Objective]) -> None:
    names = [goal.name for goal in goals]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"each objective must be another metric, got {name} twice")


def _evaluator(space: Space, evaluate: Any, own: Sequence[str], names: Sequence[str]) -> Evaluator:
    """The user's metrics, and costs: MACs and parameters always, others where they are needed."""
    costs = tuple(c for c in COSTS if c not in own and (c in names or c != "cost/peak"))
    if own:
        for name in names:
            if name in evaluate.test:
                raise InputError(f"{name} is test data: it may be reported, not searched on")
        return CombinedEvaluator((evaluate, CostEvaluator(space, costs)))
    required = tuple(name for name in names if name not in COSTS)
    return CombinedEvaluator((FunctionEvaluator(evaluate, required), CostEvaluator(space, costs)))


def _settings(plan: _Plan, requested: str | Space, evaluate: Any, budget: int, seed: int) -> dict[str, Any]:
    engine: Any = plan.searcher
    return {
        "job": JOB,
        "seed": seed,
        "evaluations": budget,
        "objectives": [str(o) for o in plan.task.objectives],
        "where": [dataclasses.asdict(c) for c in plan.task.constraints],
        "space": _space_record(requested, plan.task.space),
        "searcher": {"name": type(engine).__name__, **dataclasses.asdict(engine)},
        "evaluate": record_of(evaluate),
    }


def _space_record(requested: str | Space, space: Space) -> dict[str, Any]:
    """Enough to make the space again, where that is possible: not for a class of the user's own."""
    record = space_record(requested, space)
    try:
        space_of(Path(), {"space": json.loads(json.dumps(record))})
    except (SupernetError, AttributeError, KeyError, TypeError, ValueError, OSError):
        return {"name": space.name, "fingerprint": space.fingerprint}
    return record


def _result(plan: _Plan, run: str, trials: Sequence[Trial], seed: int) -> OptimiseResult:
    engine: Any = plan.searcher
    task = plan.task
    return OptimiseResult(
        run=run,
        space=task.space.name,
        searcher={"name": type(engine).__name__, **dataclasses.asdict(engine)},
        objectives=tuple(map(str, task.objectives)),
        where=tuple(map(str, task.constraints)),
        seed=seed,
        trials=Trials(tuple(trials), task.objectives, task.space, task.constraints),
    )


@dataclass
class _Listener:
    """Turns trials and failures into events, and gives up on a function that never works."""

    task: SearchProblem
    budget: int
    on_event: OnEvent
    succeeded: bool = False
    failures: int = 0
    seen: int = 0  # trials that `best` takes into account
    best: float = inf  # of the first objective, to be minimised

    def evaluated(self, trials: Sequence[Trial]) -> None:
        """Say how far the search is."""
        fresh = trials[self.seen :]
        self.seen = len(trials)
        self.succeeded = self.succeeded or any(trial.status != "failed" for trial in fresh)
        points = self.task.points(trial for trial in fresh if trial.ok)
        self.best = min(self.best, float(points[:, 0].min(initial=inf)))
        goal = self.task.objectives[0]
        text = f"best {goal.name} {-self.best if goal.maximise else self.best:.6g}" if isfinite(self.best) else ""
        self.on_event(Event("search", text, done=len(trials), total=self.budget))

    def failed(self, arch: Arch, error: Exception) -> None:
        """Say what failed; end a search in which nothing ever works."""
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        self.failures += 1
        if not self.succeeded and self.failures >= HOPELESS_FAILURES:
            raise SupernetError(f"the first {self.failures} evaluations all failed, the last with {reason}") from error
        self.on_event(Event("search", f"the evaluation of {self.task.space.name_of(arch)} failed: {reason}"))


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise InputError(f"{name} must be at least {least}, got {value}")
