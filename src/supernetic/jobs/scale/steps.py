"""The steps of a scaling job that a search on images does not have; each is done when its file is there.

search    trials.jsonl, chain.jsonl, scale.json
compare   networks/, networks.json
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ...costs import costs_of
from ...evaluators import CombinedEvaluator, CostEvaluator, Evaluator
from ...objective import Metrics
from ...ranking.correlation import count_pairs, pearson, spearman
from ...runs.directory import TRIALS, Run, jsonable
from ...samplers.hierarchical import Hierarchical
from ...scaling.budgets import Budgets
from ...scaling.family import TIES, State, factors_of
from ...scaling.generalise import FAMILIES, Growth, compare
from ...scaling.histogram import WAYS, sampling
from ...searchers import SearchProblem, Trial, run_search
from ...searchers.mcea import MCEA, chain_of
from ...space import Arch
from ...spaces.scaled import Scaled
from ..compare.candidates import Candidate
from ..search.score import ACCURACY, COSTS, SCORE, scoring_images
from ..search.steps import CHUNK, NETWORKS, Compared, Job, record_of, supernet_of, trained_networks
from .members import controls, curves, family

if TYPE_CHECKING:
    from ...supernets.supernet import Supernet

CHAIN, SCALE = "chain.jsonl", "scale.json"
IMAGES = 1000  # of the validation split, at most: a family is scored by several networks
DRAWN = 1000  # paths for the sampling histogram
ORDER = 14  # stream of random numbers


@dataclass(frozen=True)
class ScaleJob:
    """What a scaling job adds to a search's settings."""

    job: Job
    budgets: Budgets
    extrapolate: int
    curve: str
    order: int  # networks whose scores are compared with their MACs

    @property
    def space(self) -> Scaled:
        """The base space times its strategies."""
        assert isinstance(self.job.space, Scaled)
        return self.job.space

    @property
    def searcher(self) -> MCEA:
        """The search."""
        assert isinstance(self.job.searcher, MCEA)
        return self.job.searcher

    @property
    def task(self) -> SearchProblem:
        """What is searched for."""
        return SearchProblem(self.space, self.job.objectives)


def scorer(job: Job, supernet: Supernet) -> Evaluator:
    """Costs, and cross-entropy and accuracy by both sides of the supernet with each batch's own statistics."""
    from ...evaluators.supernet import SupernetEvaluator

    images = scoring_images(job.dataset, job.seed, IMAGES)
    scores = SupernetEvaluator(supernet, images, (SCORE, ACCURACY), bn="batch", seed=job.seed)
    return CombinedEvaluator((CostEvaluator(job.space, COSTS), scores))


def search(scaled: ScaleJob, run: Run, tell: Callable[[str], None]) -> None:
    """Search base and strategies; fit curves; see how far scores follow MACs."""
    if (run.path / SCALE).exists():
        return
    job = scaled.job
    evaluate = scorer(job, supernet_of(job, run))

    def told(trials: Sequence[Any]) -> None:
        tell(f"{len(trials):,} networks evaluated")

    trials = run_search(scaled.searcher, scaled.task, evaluate, run, seed=job.seed, chunk=CHUNK, progress=told)
    states = chain_of(scaled.searcher, scaled.task, trials, job.seed)
    run.write(CHAIN, "".join(json.dumps(s.to_json()) + "\n" for s in states))
    record = {
        **_about(scaled, states[-1]),
        "evaluations": len(trials),
        "order": _order(scaled, evaluate),
        "sampling": _sampling(scaled),
    }
    run.write(SCALE, json.dumps(record, indent=1) + "\n")


def last_state(scaled: ScaleJob, run: Run) -> State:
    """The end of the chain, from the record."""
    trials = [Trial.from_json(r) for r in run.read(TRIALS)]
    return chain_of(scaled.searcher, scaled.task, trials, scaled.job.seed)[-1]


def _about(scaled: ScaleJob, state: State) -> dict[str, Any]:
    space = scaled.space
    assert state.base is not None
    rows = factors_of(space, state.strategies)
    beyond = range(1, len(rows) + scaled.extrapolate + 1)
    chosen = curves(space, state, scaled.curve)
    return {
        "base": space.base.format(state.base),
        "budgets": {"base": scaled.budgets.base, "unit": scaled.budgets.unit, "targets": list(scaled.budgets.targets)},
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


def _order(scaled: ScaleJob, evaluate: Evaluator) -> dict[str, Any] | None:
    """How far accuracy and cross-entropy follow MACs over random networks of all stages (appendix B)."""
    if scaled.order < 3:
        return None
    rng = np.random.default_rng([scaled.job.seed, ORDER])
    archs: list[Arch] = [tuple(a) for a in Hierarchical("uniform").sample(scaled.space, rng, scaled.order).tolist()]
    found = evaluate(archs)
    accuracy = [m[ACCURACY] for m in found]
    macs = costs_of(scaled.space, np.array(archs, dtype=np.int8)).tolist()
    good = [(a, m) for a, m in zip(accuracy, macs, strict=True) if isfinite(a)]
    x, y = [a for a, _ in good], [m for _, m in good]
    pairs = count_pairs(x, y)
    numbers = {"pearson": pearson(x, y), "spearman": spearman(x, y), "kendall": pairs.tau_scalenet()}
    return {"n": len(x), **{k: jsonable(v) for k, v in numbers.items()}}


def _sampling(scaled: ScaleJob) -> dict[str, list[float]]:
    """Share of drawn networks near each budget, for each way of drawing."""
    targets = scaled.budgets.targets
    return {way: list(sampling(scaled.space, way, DRAWN, seed=scaled.job.seed).masses(targets)) for way in WAYS}  # type: ignore[arg-type]


# --- compare ----------------------------------------------------------------------------------------------------------


def entries(scaled: ScaleJob, run: Run) -> list[Candidate]:
    """The family and its controls."""
    state = last_state(scaled, run)
    growth = curves(scaled.space, state, scaled.curve)
    members = family(scaled.space, state, growth, scaled.extrapolate)
    return [*members, *controls(scaled.space, state, members, growth.family)]


def compared(scaled: ScaleJob, run: Run, progress: Callable[[str, int, int], None] | None) -> list[Compared]:
    """Train the family and its controls alike; what was trained already is only read."""
    job, wanted = scaled.job, entries(scaled, run)
    known = [c for c in wanted if c.arch is not None]
    found = scorer(job, supernet_of(job, run))([c.arch for c in known if c.arch is not None])
    scores: dict[str, Metrics] = dict(zip([c.name for c in known], found, strict=True))
    trained = trained_networks(job, run, wanted, {}, progress)
    both = [Compared(c, scores.get(c.name), trained[c.name]) for c in wanted]
    run.write(NETWORKS, json.dumps([record_of(job, c) for c in both], indent=1) + "\n")
    return both
