"""`select`: train models on a ladder of subsets, and say which to take."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from ...datasets import Dataset
from ...errors import InputError
from ...families import CandidateModel
from ...networks.pool import dataset_of
from ...parallel.workers import usual_workers
from ...runs.directory import SETTINGS, TIMINGS, read_settings
from ...runs.location import open_or_resume, resolve_directory
from ...runs.request import save_request
from ...runs.trust import opens_runs
from ...selection.budget import fit_schedule
from ...selection.subsets import AUTO, SubsetSchedule, make_schedule
from ...text import duration
from ...training.recipe import Recipe, read_recipe
from .models import read_models, said_models
from .plan import Pace, estimate, require_minutes, time_steps
from .result import SelectResult, planned, write
from .trainings import RATES, RECIPE, RESULT, Outcome, SubsetTraining, recipe_for, train_subsets

MINUTES = 8.0  # that an automatic ladder is fitted into, unless told otherwise
TRAININGS = "trainings"
EVERY = 20.0  # seconds between two lines about progress
EARLY = 0.02  # of the work: before that, nothing is said about the time left

Tell = Callable[[str], None]


@opens_runs
def select(
    data: str | Path = "embedded",
    *,
    models: str | Sequence[str] | None = None,
    sizes: str = AUTO,
    seeds: int = 2,
    minutes: float | None = None,
    on: str = "test",
    stratified: bool = False,
    size: str = "cpu",
    recipe: str | Path | None = None,
    limit: int | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
    dry_run: bool = False,
    tell: Tell | None = None,
    trust_code: bool = False,
) -> SelectResult:
    """Which model suits the data: train all on nested subsets, compare them by calibrated cross-entropy, decide.

    `models` are names as `supernetic.model_names` has them, in the CPU or the full `size`; `sizes` are numbers of
    images, of which nine tenths train and one tenth calibrates; the smaller half of them gets twice the `seeds`. Scores
    are taken `on` the test or the valid split. Everything is fitted into `minutes` by giving up seeds, then the largest
    sizes; an automatic ladder has 8 unless told otherwise, a given one has no limit. Interrupted, it goes on with the
    trainings that are not finished. With `dry_run` the plan is told, and nothing is written.
    """
    began = monotonic()
    tell = tell or (lambda _: None)
    require_minutes(minutes)
    workers = usual_workers() if workers is None else workers
    if workers < 1:
        raise InputError(f"there must be a worker, got {workers}")
    source = str(Path(data).resolve()) if Path(data).exists() else str(data)
    loading = {"source": source, **({} if limit is None else {"limit": limit})}
    dataset = dataset_of(loading)
    members = read_models(models, dataset, size)
    settled = RECIPE if recipe is None else read_recipe(recipe)
    if settled.sampler is not None:
        raise InputError(f"{recipe}: a model has no paths to sample: the recipe must have no sampler")
    subsets = make_schedule(sizes, seeds, dataset, on, stratified=stratified)
    limited = minutes if minutes is not None or sizes != AUTO else MINUTES
    identity = _identity(dataset, members, settled, subsets, limited)
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    path = resolve_directory(
        out, f"select-{dataset.name}", lambda settings: settings.get("fitted", {}).get("identity") == digest
    )
    before = read_settings(path) if (path / SETTINGS).exists() else {}
    paces: Mapping[str, Pace]
    notes: list[str] = []
    if before.get("fitted", {}).get("identity") == digest:  # what was planned then holds, however long things take now
        fitted = replace(subsets, sizes=tuple(before["fitted"]["sizes"]), seeds=tuple(before["fitted"]["seeds"]))
        notes = list(before["fitted"]["given_up"])
        paces = {name: Pace(*pace) for name, pace in before["paces"].items()}
    else:
        fitted, paces = subsets, time_steps(members, dataset, settled, subsets)
    scored = len(dataset.splits[on])

    def cost(tried: SubsetSchedule) -> float:
        return estimate(tried, paces, settled, scored, workers)

    if limited is not None and not before:
        fitted, notes = fit_schedule(subsets, cost, 60 * limited)
    plan = planned(dataset, members, fitted, cost(fitted), notes)
    for line in plan.lines():
        tell(line)
    if dry_run:
        return plan
    settings = {
        **identity,
        "fitted": {"sizes": fitted.sizes, "seeds": fitted.seeds, "given_up": notes, "identity": digest},
        "paces": {name: [p.step, p.image] for name, p in paces.items()},
    }
    asked = {
        "data": data, "models": said_models(models), "sizes": sizes, "seeds": seeds, "minutes": minutes, "on": on,
        "stratified": stratified, "size": size, "recipe": recipe, "limit": limit, "workers": workers,
    }  # fmt: skip
    with open_or_resume(path, path.name, settings) as run:
        save_request(run, asked)
        costs = {(m, n): pace.seconds(settled, n, scored) for m, pace in paces.items() for n in fitted.sizes}
        queue = Queue(
            members, settled, fitted, loading, dataset.fingerprint, run.path / TRAININGS, workers, costs, tell
        )
        try:
            rates, subset_trainings, outcomes = queue.train()
        finally:
            if queue.began is not None:
                run.append(TIMINGS, [{"task": "trainings", "seconds": round(monotonic() - began, 1)}])
        seconds = sum(r["seconds"] for r in run.read(TIMINGS))
        if limited is not None and seconds > 60 * limited:
            notes = [*notes, f"it took {seconds / 60:.1f} minutes, more than the {limited:g} that it was fitted into"]
        return write(run, dataset, members, fitted, rates, subset_trainings, outcomes, notes, seconds)


def _identity(
    dataset: Dataset, members: Sequence[CandidateModel], recipe: Recipe, subsets: SubsetSchedule, minutes: float | None
) -> dict[str, Any]:
    """What makes two runs one: all that was asked for, but not how long it took or what had to be given up."""
    return {
        "job": "select",
        "data": dataset.summary(),
        "models": {m.name: m.fingerprint for m in members},
        "recipe": recipe.settings(),
        "rates": list(RATES),
        "asked": {**asdict(subsets), "minutes": minutes},
    }


@dataclass
class Queue:
    """All trainings: first those that choose learning rates, then the others."""

    members: Sequence[CandidateModel]
    recipe: Recipe
    subsets: SubsetSchedule
    loading: Mapping[str, Any]  # arguments of `datasets.load`
    data: str  # fingerprint
    directory: Path
    workers: int
    costs: Mapping[tuple[str, int], float]  # seconds that a training may take, by model and size
    tell: Tell
    done: float = 0.0  # seconds of work, as estimated
    began: float | None = None  # when the first training moved: workers take a while to start

    def train(self) -> tuple[dict[str, float], list[SubsetTraining], list[Outcome]]:
        """(the learning rate of each model, all rungs with it, what became of them)."""
        trials = [self._rung(m, self.subsets.middle, 0, rate) for rate in RATES for m in self.members]
        every = [self._rung(m, n, s, RATES[0]) for n, s in self.subsets.subset_trainings() for m in self.members]
        later = [r for r in every if (r.size, r.seed) != (self.subsets.middle, 0)]
        found = self._train(trials, "learning rates", sum(self._cost(r) for r in later))
        rates = {m.name: RATES[1] for m in self.members}
        for m in self.members:
            known = [
                (o.calibration, r.recipe.lr)
                for r, o in zip(trials, found, strict=True)
                if r.member is m and not o.reason
            ]
            rates[m.name] = min(known, default=(0.0, RATES[1]))[1]
        subset_trainings = [replace(r, recipe=recipe_for(self.recipe, r.size, rates[r.member.name])) for r in every]
        return rates, subset_trainings, self._train(subset_trainings, "trainings", 0.0)

    def _rung(self, member: CandidateModel, size: int, seed: int, rate: float) -> SubsetTraining:
        recipe = recipe_for(self.recipe, size, rate)
        on, stratified = self.subsets.on, self.subsets.stratified
        return SubsetTraining(member, recipe, size, seed, on, stratified, self.loading, self.data)

    def _cost(self, training: SubsetTraining) -> float:
        """Seconds that are still to be spent on it."""
        done = (self.directory / training.key / RESULT).exists()
        return 0.0 if done else self.costs[training.member.name, training.size]

    def _train(self, subset_trainings: Sequence[SubsetTraining], what: str, later: float) -> list[Outcome]:
        """In worker processes, with a line about progress now and then."""
        weights = [self._cost(r) for r in subset_trainings]
        parts = [0.0 if w else 1.0 for w in weights]
        before, total = self.done, self.done + sum(weights) + later
        last = monotonic()

        def watch(i: int, done: int, steps: int) -> None:
            nonlocal last
            ended = done == steps and parts[i] < 1
            parts[i] = done / steps
            now = monotonic()
            self.began = self.began or now
            if ended or now - last >= EVERY:
                last = now
                share = (before + sum(w * p for w, p in zip(weights, parts, strict=True))) / total
                left = f", {duration((now - self.began) / share * (1 - share))} left" if share >= EARLY else ""
                finished = sum(p >= 1 for p in parts)
                count = f"{finished} of {len(subset_trainings)}"
                self.tell(f"{what}: {count}, {100 * share:.0f} %{left} ({subset_trainings[i].name})")

        found = train_subsets(subset_trainings, self.directory, self.workers, watch)
        self.done += sum(weights)
        return found
