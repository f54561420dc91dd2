"""The step `search`: trials.jsonl as they are evaluated, then the front and the chosen networks in search.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import BudgetError
from ...evaluators import Evaluator
from ...progress import Event, OnEvent
from ...runs.directory import Run
from ...runs.files import SEARCH as SEARCH_FILE
from ...searchers import Searcher, SearchProblem, Trial, run_search
from .goals import Generation, HypervolumeReference, reporter, result_of

SEARCH = "search"  # the name of the step
ARCHS_PER_RECORD = 100  # that are recorded together
STORED_FIELDS = (
    "space", "searcher", "objectives", "where", "evaluations", "trials", "front", "chosen", "hypervolume", "reference",
)  # fmt: skip


@dataclass(frozen=True)
class FrontSearch:
    """A search for the front.

    Args:
        searcher: Asks for architectures.
        problem: Objectives and limits, given the run (latencies are measured there).
        evaluate: The evaluator, given the run.
        evaluations: The largest number of them; None where the searcher ends by itself.
        planned: Evaluations that are expected.
        keep: Networks to choose on the front.
        seed: Of the searcher.
    """

    searcher: Searcher
    problem: Callable[[Run], SearchProblem]
    evaluate: Callable[[Run], Evaluator]
    evaluations: int | None
    planned: int
    keep: int
    seed: int

    def run(self, run: Run, settings: Mapping[str, Any], send: OnEvent) -> None:
        """Search, from where the record stands."""
        problem, watch = self.problem(run), _Watch(self.planned, send)
        reference = _FirstGeneration(problem)
        trials = run_search(
            self.searcher, problem, self.evaluate(run), run, seed=self.seed, budget=self.evaluations,
            chunk=ARCHS_PER_RECORD, progress=reporter(problem, reference, self.searcher, watch),
        )  # fmt: skip
        _require_success(trials, problem)
        result = result_of(problem, reference(trials), trials, run, settings, self.keep).to_json()
        generations = [vars(g) for g in watch.generations]
        record = {**{k: result[k] for k in STORED_FIELDS}, "first": reference.size, "generations": generations}
        run.write(SEARCH_FILE, json.dumps(record, indent=1) + "\n")


class _FirstGeneration:
    """Measures fronts by the random networks that the search begins with, so that progress is comparable."""

    def __init__(self, problem: SearchProblem) -> None:
        self.problem, self.size = problem, 0

    def __call__(self, trials: Sequence[Trial]) -> HypervolumeReference:
        self.size = self.size or len(trials)
        points = self.problem.points([t for t in trials[: self.size] if t.ok])
        return HypervolumeReference(tuple(points.max(axis=0, initial=-np.inf).tolist()))


class _Watch:
    """Keeps the generations and sends them on."""

    def __init__(self, planned: int, send: OnEvent) -> None:
        self.generations: list[Generation] = []
        self.planned, self.send = planned, send

    def __call__(self, generation: Generation) -> None:
        self.generations.append(generation)
        total = max(self.planned, generation.evaluations)
        self.send(Event(SEARCH, str(generation), done=generation.evaluations, total=total))


def _require_success(trials: Sequence[Trial], problem: SearchProblem) -> None:
    if not any(t.ok for t in trials):
        reasons = [t.reason for t in trials if t.reason]
        raise BudgetError(
            f"none of {len(trials)} architectures of {problem.space.name} satisfied the limits; "
            f"most often: {max(set(reasons), key=reasons.count)}"
        )
