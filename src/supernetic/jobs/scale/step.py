"""The step `search` of a scaling job: trials.jsonl, chain.jsonl, then scale.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ...costs import costs_of
from ...evaluators import CombinedEvaluator, CostEvaluator, Evaluator
from ...objective import Objective
from ...progress import Event, OnEvent
from ...ranking.correlation import count_pairs, pearson, spearman
from ...runs.directory import Run, jsonable
from ...runs.files import CHAIN, SCALE, TRIALS
from ...samplers.hierarchical import Hierarchical
from ...scaling.budgets import Budgets
from ...scaling.family import TIES, State, factors_of
from ...scaling.generalise import FAMILIES, Growth, compare
from ...scaling.histogram import WAYS, sampling
from ...searchers import SearchProblem, Trial, run_search
from ...searchers.mcea import MCEA, chain_of
from ...space import Arch, Space
from ...spaces.scaled import Scaled
from ..compare.candidates import Candidate
from ..search.score import ACCURACY, COSTS, SCORE, scoring_images
from ..search.step import ARCHS_PER_RECORD
from .members import controls, curves, family

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...supernets.supernet import Supernet

SEARCH = "search"  # the name of the step
MAX_SCORING_IMAGES = 1000  # of the validation split: a family is scored by several networks
HISTOGRAM_PATHS = 1000  # drawn for the sampling histogram
ORDER_STREAM = 14  # of random numbers
OBJECTIVE = Objective(SCORE, False)


@dataclass(frozen=True)
class FamilySearch:
    """A joint search for a base model and its scaling strategies.

    Args:
        space: The base space times its strategies.
        budgets: Of the stages.
        searcher: Alternates between base and strategies.
        evaluate: The evaluator, given the run.
        extrapolate: Members beyond the searched stages.
        curve: The family of curves that they follow.
        order: Networks by which it is seen whether accuracy follows MACs.
        planned: Evaluations that are expected.
        seed: Of all randomness.
    """

    space: Scaled
    budgets: Budgets
    searcher: MCEA
    evaluate: Callable[[Run], Evaluator]
    extrapolate: int
    curve: str
    order: int
    planned: int
    seed: int

    @property
    def problem(self) -> SearchProblem:
        """What is searched for."""
        return SearchProblem(self.space, (OBJECTIVE,))

    def run(self, run: Run, send: OnEvent) -> None:
        """Search base and strategies; fit curves; see how far scores follow MACs."""
        evaluate = self.evaluate(run)

        def report(trials: Sequence[Any]) -> None:
            text = f"{len(trials):,} networks evaluated"
            send(Event(SEARCH, text, done=len(trials), total=max(self.planned, len(trials))))

        trials = run_search(
            self.searcher, self.problem, evaluate, run, seed=self.seed, chunk=ARCHS_PER_RECORD, progress=report
        )
        states = chain_of(self.searcher, self.problem, trials, self.seed)
        run.write(CHAIN, "".join(json.dumps(s.to_json()) + "\n" for s in states))
        record = {
            **_about(self, states[-1]),
            "evaluations": len(trials),
            "order": _order(self, evaluate),
            "sampling": _sampling(self),
        }
        run.write(SCALE, json.dumps(record, indent=1) + "\n")

    def networks(self, run: Run) -> list[Candidate]:
        """The family and its controls, from the trials of a run."""
        trials = [Trial.from_json(r) for r in run.read(TRIALS)]
        state = chain_of(self.searcher, self.problem, trials, self.seed)[-1]
        growth = curves(self.space, state, self.curve)
        members = family(self.space, state, growth, self.extrapolate)
        return [*members, *controls(self.space, state, members, growth.family)]


def scorer(space: Space, dataset: Dataset, supernet: Supernet, seed: int, most: int = MAX_SCORING_IMAGES) -> Evaluator:
    """Costs, and cross-entropy and accuracy by both slice sides with each batch's own statistics."""
    from ...evaluators.supernet import SupernetEvaluator

    images = scoring_images(dataset, seed, most)
    scores = SupernetEvaluator(supernet, images, (SCORE, ACCURACY), bn="batch", seed=seed)
    return CombinedEvaluator((CostEvaluator(space, COSTS), scores))


def _about(search: FamilySearch, state: State) -> dict[str, Any]:
    space = search.space
    assert state.base is not None
    rows = factors_of(space, state.strategies)
    beyond = range(1, len(rows) + search.extrapolate + 1)
    chosen = curves(space, state, search.curve)
    return {
        "base": space.base.format(state.base),
        "budgets": {"base": search.budgets.base, "unit": search.budgets.unit, "targets": list(search.budgets.targets)},
        "strategies": [
            {"factors": list(row), "depths": list(c.depths), "off": c.off}
            for row, c in zip(rows, state.strategies, strict=True)
        ],
        "curve": chosen.family,
        "curves": [_curve(g, beyond) for g in compare(rows)],
        "ties": {ties: _extrapolated(curves(space, state, chosen.family, ties), beyond) for ties in TIES},
    }


def _curve(growth: Growth, stages: range) -> dict[str, Any]:
    return {
        "family": growth.family,
        "formula": FAMILIES[growth.family].formula,
        "left_out": jsonable(growth.left_out),
        "residual": [c.residual for c in growth.curves],
        "parameters": [list(c.parameters) for c in growth.curves],
        "values": _extrapolated(growth, stages),
    }


def _extrapolated(growth: Growth, stages: range) -> list[list[float]]:
    return [list(growth(j)) for j in stages]


def _order(search: FamilySearch, evaluate: Evaluator) -> dict[str, Any] | None:
    """How far accuracy and cross-entropy follow MACs over random networks of all stages (appendix B)."""
    if search.order < 3:
        return None
    rng = np.random.default_rng([search.seed, ORDER_STREAM])
    archs: list[Arch] = [tuple(a) for a in Hierarchical("uniform").sample(search.space, rng, search.order).tolist()]
    accuracy = [metrics[ACCURACY] for metrics in evaluate(archs)]
    macs = costs_of(search.space, np.array(archs, dtype=np.int8)).tolist()
    good = [(a, m) for a, m in zip(accuracy, macs, strict=True) if isfinite(a)]
    x, y = [a for a, _ in good], [m for _, m in good]
    pairs = count_pairs(x, y)
    numbers = {"pearson": pearson(x, y), "spearman": spearman(x, y), "kendall": pairs.tau_scalenet()}
    return {"n": len(x), **{k: jsonable(v) for k, v in numbers.items()}}


def _sampling(search: FamilySearch) -> dict[str, list[float]]:
    """Share of drawn networks near each budget, for each way of drawing."""
    targets = search.budgets.targets
    return {way: list(sampling(search.space, way, HISTOGRAM_PATHS, seed=search.seed).masses(targets)) for way in WAYS}  # type: ignore[arg-type]
