"""The step `search`: trials.jsonl as they are evaluated, then the front and the chosen networks in search.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from ...costs import costs_of
from ...costs.macs import activations, cost
from ...errors import BudgetError
from ...evaluators import Evaluator
from ...evaluators.cost import COSTS
from ...parallel.workers import cluster_size
from ...progress import Event, OnEvent
from ...runs.directory import Run
from ...runs.files import SEARCH as SEARCH_FILE
from ...searchers import Searcher, SearchProblem, Trial, run_search
from ...space import Arch
from .goals import Generation, HypervolumeReference, reporter, result_of

SEARCH = "search"  # the name of the step
REGULAR_TURNS = 3  # regular networks for every one that the score chose
SPEEDS = 3  # groups of networks, by how fast they are trained
NEAR_LIMIT_SHARE = 0.75  # of the MACs of the largest network that was evaluated
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
        contenders: Networks to choose among the largest, on the front or not: those with the best score.
        seed: Of the searcher.
    """

    searcher: Searcher
    problem: Callable[[Run], SearchProblem]
    evaluate: Callable[[Run], Evaluator]
    evaluations: int | None
    planned: int
    keep: int
    contenders: int
    seed: int

    def run(self, run: Run, settings: Mapping[str, Any], send: OnEvent) -> None:
        """Search, from where the record stands."""
        problem, watch = self.problem(run), _Watch(self.planned, send)
        reference = _FirstGeneration(problem)
        trials = run_search(
            self.searcher, problem, self.evaluate(run), run, seed=self.seed, budget=self.evaluations,
            chunk=ARCHS_PER_RECORD * max(1, cluster_size() or 1),
            progress=reporter(problem, reference, self.searcher, watch),
        )  # fmt: skip
        _require_success(trials, problem)
        result = result_of(problem, reference(trials), trials, run, settings, self.keep).to_json()
        generations = [vars(g) for g in watch.generations]
        record = {
            **{k: result[k] for k in STORED_FIELDS},
            "contenders": [
                {"arch": arch, "name": problem.space.name_of(arch)}
                for arch in contenders(problem, trials, self.contenders)
            ],
            "first": reference.size,
            "generations": generations,
        }
        run.write(SEARCH_FILE, json.dumps(record, indent=1) + "\n")


def contenders(problem: SearchProblem, trials: Sequence[Trial], n: int) -> list[Arch]:
    """The networks that may well be the most accurate: the best by the first objective among the largest.

    Which of them is best in a given time depends on how fast they are trained, which no score knows. So they are taken
    in turns from the fastest third, the middle one and the slowest: on a CPU, what slows a training down beside MACs
    is the number of activations. Where the space knows regular networks, as one would write them by hand, most turns
    are theirs: they are hard to beat.

    Args:
        problem: The objectives.
        trials: All evaluations.
        n: How many.

    Returns:
        At most so many different networks, the most promising first.
    """
    space = problem.space
    good = {space.canonical(t.arch): t for t in trials if t.ok}
    regular = _regular(problem)
    macs = {arch: cost(space.blueprint(arch)).macs for arch in (*good, *regular)}
    least = NEAR_LIMIT_SHARE * max(macs.values(), default=0)
    large = [arch for arch in good if macs[arch] >= least]
    if not large:
        return []
    speed = {arch: activations(space.blueprint(arch)) for arch in large}
    quality = dict(zip(large, problem.points([good[arch] for arch in large])[:, 0].tolist(), strict=True))
    thirds = np.array_split(np.array(sorted(large, key=lambda arch: (speed[arch], arch))), SPEEDS)
    by_score = [sorted(map(tuple, part.tolist()), key=lambda arch: quality[arch]) for part in thirds]
    scored = [arch for turn in zip_longest(*by_score) for arch in turn if arch is not None]
    by_hand = [arch for arch in regular if macs[arch] >= least]
    chunks = [by_hand[i : i + REGULAR_TURNS] for i in range(0, len(by_hand), REGULAR_TURNS)]
    turns = [arch for chunk, one in zip_longest(chunks, scored) for arch in (*(chunk or ()), one) if arch is not None]
    return list(dict.fromkeys(turns))[:n]


def _regular(problem: SearchProblem) -> list[Arch]:
    """Of every regular shape of the space, if it knows any, the most expensive one that keeps the limits."""
    space = problem.space
    shapes: Callable[[], list[list[Arch]]] = getattr(space, "regular", list)
    limits = [c for c in problem.constraints if c.name in COSTS]

    def largest(shape: list[Arch]) -> list[Arch]:
        archs = np.array(sorted({space.canonical(arch) for arch in shape}), dtype=np.int8)
        values = [(c, costs_of(space, archs, c.name.removeprefix("cost/"))) for c in limits]
        fits = [i for i in range(len(archs)) if all(c.holds(float(of[i])) for c, of in values)]
        macs = costs_of(space, archs)
        return [tuple(archs[max(fits, key=lambda i: (macs[i], i))].tolist())] if fits else []

    return [arch for shape in shapes() for arch in largest(shape)]


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
