"""How a search on images scores architectures: what the supernet says of them, and what voters do.

Where weights are shared by choice, the score is the vote of `VOTERS` (docs/ranking.md says why these); where they are
shared elastically, it is the supernet's cross-entropy. On request, `min ladder`, every architecture is trained on a
small subset instead (docs/select.md).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...evaluators import CombinedEvaluator, CostEvaluator, Evaluator
from ...proxies import PREFIX
from ...ranking.ensemble import RANK, RankEnsemble
from ...runs.directory import Run
from ...space import Arch
from ..time_plan import Plan

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...supernets.supernet import Supernet
    from ...timing.lookup import LatencyTable
    from .steps import Job

SCORE, ACCURACY = "valid/cross_entropy", "valid/accuracy"
PROXIES = (SCORE, "vote/naswot", "vote/jacov", "vote/grad_norm", "vote/layers")
COSTS = ("cost/macs", "cost/params")
MILLISECONDS = "latency/ms"
SUBSET_TRAINING = "valid/ladder"
LATENCY, BALLOT = "latency.jsonl", "ballot.json"
IMAGES = 2000  # of the validation split, at most, that architectures are scored on
REFERENCES = 100  # networks, at most, among which a vote gives others their place
PROBES = 64  # training images that training-free voters see
RUNG = 1000  # images of a training on a subset, at most
SCORING, REFERRING = 12, 13  # streams of random numbers


def scorer(job: Job, run: Run, supernet: Supernet) -> Evaluator:
    """The evaluator of a run, its ballot and its latencies measured once."""
    evaluate = evaluator(job, supernet, latency_table(job, run))
    if RANK not in _wanted(job):
        return evaluate
    from ...evaluators.ensemble import EnsembleEvaluator

    return EnsembleEvaluator(evaluate, _ballot(job, run, evaluate))


def evaluator(job: Job, supernet: Supernet, table: LatencyTable | None = None) -> Evaluator:
    """Costs, the supernet's scores, votes, and looked-up latency where it is asked for; no rank yet."""
    from ...evaluators.supernet import SupernetEvaluator

    wanted = _wanted(job)
    costs = dict.fromkeys([*COSTS, *(n for n in wanted if n.startswith("cost/"))])
    scores = dict.fromkeys([SCORE, ACCURACY, *(n for n in wanted if n.startswith("valid/") and n != SUBSET_TRAINING)])
    votes = tuple(n for n in wanted if n.startswith(PREFIX) and n != RANK)
    images = scoring_images(job.dataset, job.seed)
    parts: list[Evaluator] = [
        CostEvaluator(job.space, tuple(costs)),
        SupernetEvaluator(supernet, images, tuple(scores), seed=job.seed),
    ]
    if votes:
        from ...evaluators.proxies import ProxyEvaluator

        parts.append(ProxyEvaluator(job.space, job.dataset, votes, images=PROBES, seed=job.seed))
    if SUBSET_TRAINING in wanted:
        parts.append(_ladder(job))
    if table is not None:
        from ...evaluators.latency import LatencyEvaluator

        parts.append(LatencyEvaluator(job.space, table))
    return CombinedEvaluator(tuple(parts))


def _ladder(job: Job) -> Evaluator:
    from ...evaluators.subset_training import SCORED_SPLIT, SubsetTrainingEvaluator, SubsetTrainingScore
    from ...selection.subsets import available_rows
    from ..select.trainings import RECIPE, recipe_for

    size = min(RUNG, len(available_rows(job.dataset, SCORED_SPLIT)))
    return SubsetTrainingScore(
        SubsetTrainingEvaluator(job.space, job.dataset, recipe_for(RECIPE, size), size, seed=job.seed)
    )


def _wanted(job: Job) -> list[str]:
    """Metrics that are asked for, and those that vote on what is."""
    asked = [*(o.name for o in job.objectives), *(c.name for c in job.where)]
    return list(dict.fromkeys([*asked, *(PROXIES if RANK in asked else ())]))


def _ballot(job: Job, run: Run, evaluate: Evaluator) -> RankEnsemble:
    """What the voters say of random networks, asked once; of no more than the search itself evaluates."""
    if not (run.path / BALLOT).exists():
        rng = np.random.default_rng([job.seed, REFERRING])
        references = min(REFERENCES, Plan.from_settings(job.settings["plan"]).evaluations)
        drawn = job.space.sample(rng, references).tolist()
        archs: list[Arch] = list(dict.fromkeys(job.space.canonical(tuple(a)) for a in drawn))
        ballot = RankEnsemble.of(PROXIES, evaluate(archs))
        run.write(BALLOT, json.dumps(ballot.to_json()) + "\n")
    return RankEnsemble.from_json(json.loads((run.path / BALLOT).read_text()))


def scoring_images(dataset: Dataset, seed: int, most: int = IMAGES) -> Dataset:
    """The same data with at most so many validation images; the others are put aside with those for calibration."""
    valid = dataset.splits["valid"]
    if len(valid) <= most:
        return dataset
    order = np.random.default_rng([seed, SCORING]).permutation(valid)
    spare = np.concatenate([dataset.splits["calibrate"], order[most:]])
    return replace(dataset, splits={**dataset.splits, "valid": np.sort(order[:most]), "calibrate": spare})


def latency_table(job: Job, run: Run) -> LatencyTable | None:
    """Measured once on this machine, then read from the run; none if nobody asks."""
    if not job.latency:
        return None
    from ...timing.lookup import LatencyTable, measure_table

    records = run.read(LATENCY)
    if not records:
        records = measure_table(job.space, **job.latency).to_records()
        run.write(LATENCY, "".join(json.dumps(r) + "\n" for r in records))
    return LatencyTable.from_records(records)
