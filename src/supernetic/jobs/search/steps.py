"""The steps of a search on images. Each reads what the steps before it left in the run, and is done when its file is
there: killed at any moment and called again, it goes on where it stopped.

    train     supernet.safetensors
    search    trials.jsonl, search.json
    compare   networks/, networks.json
    test      trust.json; the only step that sees the test split
    export    models/
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import catalog
from ...benchmarks.table import ABSENT
from ...blueprint import Blueprint
from ...costs import costs_of
from ...errors import BudgetError, SupernetError
from ...objective import Constraint, Metrics, Objective
from ...ranking.ensemble import RANK, quality
from ...ranking.verdict import Agreement, Comparison, agreement, compare
from ...runs.directory import Run, jsonable
from ...searchers import Searcher, SearchProblem, Trial, run_search
from ...space import Arch, Space
from ..compare.candidates import CHOSEN, Candidate, candidates
from ..train.prepare import TrainJob, Watch
from ..train.supernet_run import WEIGHTS
from .goals import Generation, HypervolumeReference, reporter, result_of
from .score import ACCURACY, MILLISECONDS, SCORE, latency_table, scorer

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...datasets import Dataset
    from ...derivation.fold import FoldReport
    from ...networks.baselines import Baseline
    from ...networks.pool import Trained
    from ...nn.network import Network
    from ...supernets.supernet import Supernet
    from ...training.recipe import Recipe

    Bools = npt.NDArray[np.bool_]

SEARCH, NETWORKS, TRUST, MODELS = "search.json", "networks.json", "trust.json", "models"
CHUNK = 100  # architectures that are recorded together

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """Everything that is settled before the first step."""

    training: TrainJob
    objectives: tuple[Objective, ...]
    where: tuple[Constraint, ...]
    searcher: Searcher
    evaluations: int | None
    keep: int
    retrain: str  # scratch, inherit, none, or check: the supernet's weights are handed over, scratch is for comparison
    recipe: Recipe  # of finished networks
    baselines: tuple[Any, ...]
    workers: int
    latency: dict[str, Any]  # how it is measured; nothing if it is not asked for
    settings: Mapping[str, Any]

    @property
    def seed(self) -> int:
        """Of all randomness."""
        return self.training.seed

    @property
    def dataset(self) -> Dataset:
        """All images."""
        return self.training.dataset

    @cached_property
    def space(self) -> Space:
        """Of finished networks, cells shared."""
        from ...evaluators.supernet import shared_cells

        return shared_cells(self.training.supernet.space)

    @property
    def score(self) -> str:
        """The metric by which networks are searched for; validation cross-entropy if only costs are."""
        names = [o.name for o in self.objectives]
        return next((n for n in names if n == RANK or n.startswith("valid/")), SCORE)

    @property
    def trains(self) -> bool:
        """Whether finished networks are trained."""
        return self.retrain != "none"

    @property
    def exports_supernet_weights(self) -> bool:
        """Whether the models have the supernet's own weights."""
        return self.retrain in ("none", "check")


# --- train, search ----------------------------------------------------------------------------------------------------


def train(job: Job, run: Run, watch: Watch | None) -> None:
    """Train the supernet."""
    if not (run.path / WEIGHTS).exists():
        job.training.fit(run, watch)


def supernet_of(job: Job, run: Run) -> Supernet:
    """The trained supernet, ready for evaluation."""
    import torch

    from ...training.checkpoint import read

    supernet = job.training.supernet
    supernet.load_state_dict(read(run.path / WEIGHTS)[0])
    supernet.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return supernet.eval()


def search(job: Job, run: Run, tell: Callable[[Generation], None]) -> None:
    """Search with the supernet; the front and the chosen are in `search.json`."""
    if (run.path / SEARCH).exists():
        return
    evaluate = scorer(job, run, supernet_of(job, run))
    task = task_of(job, run)
    generations: list[Generation] = []
    first: list[int] = []

    def volume_reference(trials: Sequence[Trial]) -> HypervolumeReference:
        """By the random networks that the search begins with, so that it is known from the start."""
        if not first:
            first.append(len(trials))
        points = task.points([t for t in trials[: first[0]] if t.ok])
        return HypervolumeReference(tuple(points.max(axis=0, initial=-np.inf).tolist()))

    def told(generation: Generation) -> None:
        generations.append(generation)
        tell(generation)

    report = reporter(task, volume_reference, job.searcher, told)
    trials = run_search(
        job.searcher, task, evaluate, run, seed=job.seed, budget=job.evaluations, chunk=CHUNK, progress=report
    )
    if not any(t.ok for t in trials):
        reasons = [t.reason for t in trials if t.reason]
        raise BudgetError(
            f"none of {len(trials)} architectures of {job.space.name} satisfied the limits; "
            f"most often: {max(set(reasons), key=reasons.count)}"
        )
    result = result_of(task, volume_reference(trials), trials, run, job.settings, job.keep)
    record = result.to_json()
    wanted = ("space", "searcher", "objectives", "where", "evaluations", "trials", "front", "chosen", "hypervolume")
    kept = {k: record[k] for k in (*wanted, "reference")}
    kept |= {"first": first[0], "generations": [vars(g) for g in generations]}
    run.write(SEARCH, json.dumps(kept, indent=1) + "\n")


def task_of(job: Job, run: Run) -> SearchProblem:
    """What is searched for; where that takes milliseconds, layers are measured first."""
    return SearchProblem(job.space, job.objectives, job.where, layer_cost=latency_table(job, run))


# --- compare ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """A candidate with what became of it."""

    candidate: Candidate
    score: Metrics | None = None  # the supernet's
    trained: Trained | None = None
    inherited: Network | None = None
    fold: FoldReport | None = None


def compared(job: Job, run: Run, tell: Tell, progress: Callable[[str, int, int], None] | None) -> list[Compared]:
    """Derive the chosen, train them and their controls alike; what was trained already is only read."""
    found = json.loads((run.path / SEARCH).read_text())
    entries, remarks = candidates(task_of(job, run), found["chosen"], job.seed, job.baselines)
    for remark in remarks:
        tell(remark)
    supernet = supernet_of(job, run)
    scored = [c for c in entries if c.arch is not None]
    scores: dict[str, Metrics] = dict(
        zip([c.name for c in scored], scorer(job, run, supernet)([_arch(c) for c in scored]), strict=True)
    )
    derived = _derived(job, supernet, entries)
    trained = trained_networks(job, run, entries, derived, progress) if job.trains else {}
    both = [Compared(c, scores.get(c.name), trained.get(c.name), *derived.get(c.name, (None, None))) for c in entries]
    run.write(NETWORKS, json.dumps([record_of(job, c) for c in both], indent=1) + "\n")
    return both


def _arch(candidate: Candidate) -> Arch:
    assert candidate.arch is not None
    return candidate.arch


def _derived(
    job: Job, supernet: Supernet, entries: Iterable[Candidate]
) -> dict[str, tuple[Network, FoldReport | None]]:
    """With the supernet's weights: the chosen, and whatever starts its training from there."""
    from ...derivation.derive import derive

    wanted = [c for c in entries if c.arch is not None and (c.role == CHOSEN or job.retrain in ("inherit", "none"))]
    return {c.name: derive(supernet, _arch(c), job.dataset, seed=job.seed) for c in wanted}


def trained_networks(
    job: Job,
    run: Run,
    entries: Sequence[Candidate],
    derived: Mapping[str, tuple[Network, FoldReport | None]],
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, Trained]:
    """By name, all trained alike; what was trained already is only read."""
    from ...networks.pool import Training, keep_weights, train_all

    directory = run.path / "networks"

    def training(c: Candidate) -> Training:
        start = keep_weights(derived[c.name][0], directory) if job.retrain == "inherit" and c.name in derived else None
        loading = job.settings["load"]
        return Training(c.network, job.recipe, job.seed, loading, start, job.dataset.fingerprint)

    watch = (lambda i, done, steps: progress(entries[i].name, done, steps)) if progress else None
    done = train_all([training(c) for c in entries], directory, workers=job.workers, progress=watch)
    return dict(zip([c.name for c in entries], done, strict=True))


def record_of(job: Job, c: Compared) -> dict[str, Any]:
    """A line of `networks.json`."""
    candidate = c.candidate
    record: dict[str, Any] = {
        "name": candidate.name,
        "role": candidate.role,
        "against": candidate.against,
        "label": candidate.label,
        "arch": None if candidate.arch is None else list(candidate.arch),
        "macs": candidate.macs,
        "params": candidate.params,
        "key": c.trained.key if c.trained else None,
        "score": _numbers(c.score),
        "trained": _numbers(c.trained.metrics) if c.trained else None,
    }
    if c.trained and c.trained.reason:
        record["failed"] = c.trained.reason
    if c.fold:
        record["fold"] = c.fold.to_json()
    if candidate.role == CHOSEN:
        record["weights"] = "inherited" if job.exports_supernet_weights else "trained"
    return record


def _numbers(metrics: Metrics | None) -> dict[str, float | None] | None:
    return None if metrics is None else {k: jsonable(v) for k, v in metrics.items()}


# --- test -------------------------------------------------------------------------------------------------------------


def test(job: Job, run: Run, entries: Sequence[Compared]) -> None:
    """Test every network once, and say what may be believed."""
    records: list[dict[str, Any]] = json.loads((run.path / NETWORKS).read_text())
    right: dict[str, Bools] = {}
    for c, record in zip(entries, records, strict=True):
        for key, network in _networks(c):
            record[key], correct = _tested(job, network)
            right.setdefault(c.candidate.name, correct)
        record["latency"] = _latency(c.candidate.network)
    run.write(NETWORKS, json.dumps(records, indent=1) + "\n")
    tau = _agreement(job, entries)
    contests = list(_contests(entries, right))
    trust = {
        "tau": tau.to_json(),
        "comparisons": [c.to_json() for c in contests],
        "beaten": sum(c.won for c in contests),
        "of": len(contests),
        "table": _in_the_table(job, entries),
    }
    run.write(TRUST, json.dumps(trust, indent=1) + "\n")


def _networks(c: Compared) -> Iterator[tuple[str, Any]]:
    """By the name of their record; the first is the one that is compared with others."""
    if c.trained and not c.trained.reason:
        yield "test", c.trained.load()
    if c.inherited is not None:
        yield ("inherited" if c.trained else "test"), c.inherited


def _tested(job: Job, network: Any) -> tuple[dict[str, float | None], Bools]:
    from ...networks.pool import evaluate

    metrics, correct = evaluate(network, job.dataset, "test")
    return {k: jsonable(v) for k, v in metrics.items()}, correct


def _latency(network: Blueprint | Baseline) -> dict[str, Any] | None:
    """Milliseconds for one image on this machine; none for a module that has no blueprint."""
    from ...exporters.onnx import have_onnx
    from ...timing.measure import time_network

    if not isinstance(network, Blueprint):
        return None
    engine = "onnx" if have_onnx() else "eager"
    timing = time_network(
        network, resolution=network.resolution, channels=network.in_channels, engine=engine, seconds=1.0
    )
    return {MILLISECONDS: timing.ms, "low": timing.low, "high": timing.high, "engine": engine}


def _agreement(job: Job, entries: Sequence[Compared]) -> Agreement:
    """Between the score and the accuracy after training, over the networks of the space."""
    both = [(quality(job.score, c.score), c.trained.metrics[ACCURACY]) for c in entries if c.score and c.trained]
    return agreement(job.score, f"{ACCURACY} after training", [x for x, _ in both], [y for _, y in both])


def _contests(entries: Sequence[Compared], right: Mapping[str, Bools]) -> Iterator[Comparison]:
    for c in entries:
        name, against = c.candidate.name, c.candidate.against
        if against and name in right and against in right:
            yield compare(against, name, c.candidate.role, right[against], right[name])


def _in_the_table(job: Job, entries: Sequence[Compared]) -> dict[str, Any] | None:
    """Where the chosen stand in the space's benchmark, if it has one and the networks are of the same kind.

    A network with few MACs cannot be among the best of all; among those with no more than its own it can.
    """
    if job.space.name not in catalog.TABLES:
        return None
    table = catalog.table(job.space.name)
    column = next((n for n, c in table.columns.items() if c.is_test and c.unit == "%"), "")
    if table.space.choices != job.space.choices or not column:
        return None
    table = table.unique()
    values, macs = table[column].values, costs_of(job.space, table.archs)
    places: list[dict[str, Any]] = []
    for c in entries:
        if c.candidate.role == CHOSEN:
            row = int(table.find(np.array([job.space.canonical(_arch(c.candidate))], dtype=np.int8))[0])
            if row != ABSENT and isfinite(values[row]):
                better, no_larger = values > values[row], macs <= macs[row]
                place, best = int((better & no_larger).sum()) + 1, float(np.nanmax(values[no_larger]))
                small = {"rank": place, "of": int(no_larger.sum()), "best": best}
                rank = {"rank": int(better.sum()) + 1, "value": float(values[row]), "no_larger": small}
                places.append({"model": c.candidate.name, **rank})
    if not places:
        return None
    first = min(places, key=lambda p: p["rank"])
    about = {"column": column, "dataset": table[column].dataset}
    return {**about, "of": len(values), "best": float(np.nanmax(values)), **first, "models": places}


# --- export -----------------------------------------------------------------------------------------------------------


def export(job: Job, run: Run, entries: Sequence[Compared], tell: Tell) -> None:
    """Put every chosen network into `models/`, whole and verified."""
    from ...exporters.onnx import have_onnx
    from ..compare.export import export_network

    if not have_onnx():
        tell("onnx, onnxscript and onnxruntime are not installed: the models have no ONNX file")
    records = {r["name"]: r for r in json.loads((run.path / NETWORKS).read_text())}
    for c in entries:
        if c.candidate.role != CHOSEN:
            continue
        network = c.inherited if job.exports_supernet_weights else _loaded(c)
        if network is None:
            tell(f"{c.candidate.name} has no weights to hand over: its training failed")
        else:
            export_network(run.path, records[c.candidate.name], network=network)


def _loaded(c: Compared) -> Any:
    return None if c.trained is None or c.trained.reason else c.trained.load()


def require_finished(run: Run) -> None:
    """An error if there is nothing to hand over."""
    if not any((run.path / MODELS).glob("*/model.json")):
        raise SupernetError(f"{run.path}: no chosen network could be trained; see networks/*/result.json")
