"""`search` on images: one command from a folder and a budget to finished models with evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs.budget import budget_sampler
from ...datasets import DataLike, source_of
from ...evaluators import Evaluator
from ...evaluators.cost import COSTS
from ...networks.scores import SCORES
from ...objective import Constraint, Objective, combine
from ...parallel.workers import usual_workers
from ...progress import Event, OnEvent
from ...proxies import PROXIES, full_name
from ...ranking.ensemble import RANK
from ...reports import write_report
from ...runs.directory import Run
from ...runs.files import LATENCY, SUPERNET
from ...runs.files import SEARCH as SEARCH_FILE
from ...runs.records import read_search
from ...runs.trust import opens_runs
from ...samplers.step import Sampler
from ...searchers import Searcher, SearchProblem
from ...space import Arch, Space
from ..compare.candidates import BASELINE, Candidate, candidates
from ..compare.comparison import COMPARE, Comparison
from ..compare.steps import comparison_steps, network_recipe
from ..job import Job, Step, run_job
from ..speed import measure
from ..time_plan import rescale_recipe
from ..train.job import training_memory
from ..train.prepare import TRAIN, PreparedTraining, hardware_of, loading_of, prepare_training
from ..train.supernet_run import trained_supernet
from .choose_space import check_budget, check_images, choose_space, count_networks
from .goals import Goals, resolve_goals, searcher_record, with_sizes
from .plan import SearchPlan, make_plan
from .request import SearchRequest
from .result import PlannedSearch, SearchResult, read_result
from .score import ACCURACY, MILLISECONDS, SCORE, SUBSET_TRAINING, Scoring
from .step import SEARCH, FrontSearch

if TYPE_CHECKING:
    from ...networks.baselines import Baseline
    from ...supernets.supernet import Supernet
    from ...training.recipe import Recipe

RANKED_SHARING = ("choice", "cell")  # ways of sharing weights for which the rank ensemble was chosen
MEASURED_ARCHS = 24  # that are drawn to see how fast everything is
LATENCY_ENGINE = {"engine": "onnx", "threads": 1}  # how milliseconds are measured


@opens_runs
def search(
    data: DataLike = "embedded",
    *,
    space: str | Space = "auto",
    where: Sequence[str | Constraint] = (),
    objectives: Sequence[str | Objective] = (),
    minutes: float | None = None,
    keep: int = 5,
    retrain: str = "auto",
    baselines: Sequence[str | Path] = (),
    preset: str | None = None,
    searcher: str | Searcher = "nsga2",
    evaluator: Evaluator | None = None,
    population: int | None = None,
    generations: int | None = None,
    evaluations: int | None = None,
    recipe: str | Path | None = None,
    retrain_recipe: str | Path | None = None,
    steps: int | None = None,
    network_steps: int | None = None,
    sampler: str | Mapping[str, object] | Sampler | None = None,
    stabiliser: str = "",
    limit: int | None = None,
    threads: int | None = None,
    workers: int | None = None,
    device: str = "auto",
    seed: int = 0,
    out: str | Path | None = None,
    dry_run: bool = False,
    trust_code: bool = False,
    on_event: OnEvent | None = None,
) -> SearchResult:
    """From images and limits to finished models: train a supernet, search it, retrain and test the models, export them.

        supernetic.search("photos/", where=["macs<=20M"], minutes=60)

    Controls are trained as the models are: random networks of as many MACs, the largest that fits, a MobileNetV2, and
    the user's own. The test split is used once, at the end. A run that exists with the same settings is resumed, or
    read if it is finished.

    Args:
        data: Images: a name, a folder, an `.npz` or an archive; arrays `(images, labels)`, or a torch `Dataset`.
        space: A space, its text, a file that declares one, or `auto`: what suits the images and the budget.
        where: Limits such as `macs<=20M` or `latency/ms<=5`.
        objectives: `max NAME` or `min NAME`; by default the best score and the least MACs.
        minutes: Fit everything into this time; by default the recipes' own lengths.
        keep: Models to choose on the front.
        retrain: `scratch`, `inherit` (from the supernet's weights), `none`, or `auto`: by the space's sharing. Where
            weights are shared elastically, `auto` exports the supernet's own and trains from scratch to compare.
        baselines: Networks to compare with: Python files with `build(classes, in_channels, resolution)`, or
            `timm:NAME`.
        preset: `scarlet`: the objectives, weights and limits of SCARLET-NAS.
        searcher: A name or a searcher of your own.
        evaluator: An evaluator of your own; objectives and limits may name its metrics.
        population: Population size of the searcher.
        generations: Generations of the searcher.
        evaluations: Stop after this many.
        recipe: Training settings of the supernet, a TOML file.
        retrain_recipe: Training settings of finished networks.
        steps: Updates of the supernet.
        network_steps: Updates of each finished network.
        sampler: How paths are drawn; by default by the space's sharing.
        stabiliser: `skip`, `skip+pool` or `relu`; `skip:identity` starts as the skip that it replaces.
        limit: Take a subset of this many images.
        threads: Processor threads of the supernet's training; half the processors by default.
        workers: Networks that are trained at a time; as many as processors by default.
        device: `cpu`, `cuda` or `auto`.
        seed: Of all randomness.
        out: The run directory.
        dry_run: Check everything, return the plan, and write nothing.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        on_event: Receives progress.

    Returns:
        The models with evidence; after a dry run, only `planned` is set.
    """
    request = SearchRequest(
        data=source_of(data), space=space, objectives=objectives, where=where, minutes=minutes, keep=keep,
        preset=preset, searcher=searcher, evaluator=evaluator, population=population, generations=generations,
        evaluations=evaluations, retrain=retrain, baselines=baselines, recipe=recipe,
        retrain_recipe=retrain_recipe, steps=steps, network_steps=network_steps, sampler=sampler,
        stabiliser=stabiliser, limit=limit, threads=threads, workers=workers, device=device, seed=seed,
    )  # fmt: skip
    return run_job(partial(SearchJob.prepare, request), out=out, dry_run=dry_run, on_event=on_event)


@dataclass(frozen=True)
class SearchJob(Job[SearchPlan, SearchResult]):
    """A search that is prepared: data checked, space chosen, recipes read, the budget known to hold networks."""

    kind: ClassVar[str] = "search"

    request: SearchRequest
    goals: Goals
    training: PreparedTraining
    recipe: Recipe  # of finished networks, in its own length
    baselines: Mapping[str, Baseline]
    retrain: str
    workers: int
    reasons: tuple[str, ...]  # why this space

    @classmethod
    def prepare(cls, request: SearchRequest, send: OnEvent) -> SearchJob:
        """Load and check everything, before anything is written."""
        goals = _goals(request)
        training, reasons = _training(request, goals, send)
        if not (request.objectives or request.preset or training.space.sharing in RANKED_SHARING):
            goals = replace(goals, objectives=(Objective(SCORE, False), *goals.objectives[1:]))
        mode = request.retrain
        if mode == "auto":
            mode = "check" if training.space.sharing in ("elastic", "scaled") else "scratch"
        recipe, baselines = network_recipe(request.retrain_recipe), _baselines(request, training)
        return cls(request, goals, training, recipe, baselines, mode, request.workers or usual_workers(), reasons)

    @property
    def title(self) -> str:
        """The space's name."""
        return self.training.space.name

    @property
    def space(self) -> Space:
        """Of finished networks."""
        from ...evaluators.supernet import shared_cells

        return shared_cells(self.training.supernet.space)

    @property
    def scoring(self) -> Scoring:
        """How architectures are scored."""
        names = (*(o.name for o in self.goals.objectives), *(c.name for c in self.goals.where))
        latency = dict(LATENCY_ENGINE) if MILLISECONDS in names else {}
        own, training = self.request.evaluator, self.training
        return Scoring(self.space, training.dataset, names, training.seed, latency, own)

    # --- plan ---------------------------------------------------------------------------------------------------------

    def plan(self, earlier: Mapping[str, Any] | None, spent: float) -> SearchPlan:
        """The plan of a run that exists, or a new one; nothing is measured if every length was given."""
        if earlier is not None:
            return SearchPlan.from_settings(earlier["plan"])
        request, trains = self.request, self.retrain != "none"
        networks = 2 * request.keep + 2 + len(self.baselines) if trains else 0
        given: dict[str, Any] = {
            "supernet_steps": request.steps,
            "population": request.population,
            "generations": request.generations,
            "network_steps": request.network_steps if trains else 0,
        }
        if request.minutes is None and None not in given.values():
            return SearchPlan(networks=networks, workers=self.workers, models=request.keep, **given)
        supernet, network = self.training.schedules(self.recipe)
        plan = make_plan(
            self._speed(), request.minutes, supernet_steps=supernet.steps,
            network_steps=network.steps, networks=networks, models=request.keep, workers=self.workers,
            room=count_networks(self.space, self.goals.where), spent=spent,
            requested={TRAIN: request.steps, COMPARE: request.network_steps},
        )  # fmt: skip
        return replace(plan, **{k: v for k, v in given.items() if v})

    def _speed(self) -> Any:
        from ...networks.controls import largest

        training, cheap = self.training, [c for c in self.goals.where if c.name.startswith("cost/")]
        drawn, _ = budget_sampler(self.space, cheap).sample(np.random.default_rng(training.seed), MEASURED_ARCHS)
        archs: list[Arch] = [tuple(a) for a in drawn.tolist()]
        return measure(
            training.supernet, training.dataset, training.recipe, self.recipe,
            self.scoring.evaluator(training.supernet), archs, largest=largest(self.space, cheap),
            threads=int(training.settings["threads"]), workers=self.workers,
        )  # fmt: skip

    def planned(self, plan: SearchPlan) -> SearchResult:
        """What would be done."""
        space, data = self.training.space.name, self.training.dataset.name
        planned = PlannedSearch(
            where=tuple(map(str, self.goals.where)),
            objectives=tuple(map(str, self.goals.objectives)),
            plan=plan.to_settings(),
            text=(*self.reasons, *plan.lines()),
            memory=training_memory(self.training),
        )
        return SearchResult("", space, data, (), (), {}, planned=planned)

    # --- steps --------------------------------------------------------------------------------------------------------

    def settings(self, plan: SearchPlan) -> dict[str, Any]:
        """Everything that the result depends on."""
        recipe, finished = self._recipes(plan)
        searcher, evaluations = self._searcher(plan)
        return {
            **self.training.with_recipe(recipe, plan.supernet_steps).settings,
            "plan": plan.to_settings(),
            "retrain": self.retrain,
            "retrain_recipe": finished.settings(),
            "objectives": [str(o) for o in self.goals.objectives],
            "where": [str(c) for c in self.goals.where],
            "searcher": searcher_record(searcher),
            "workers": self.workers,
            "keep": self.request.keep,
            "latency": self.scoring.latency or None,
            "evaluations": evaluations,
        }

    def _recipes(self, plan: SearchPlan) -> tuple[Recipe, Recipe]:
        """Of the supernet and of finished networks, in as many steps as the plan says."""
        supernet, network = self.training.schedules(self.recipe)
        recipe = rescale_recipe(self.training.recipe, supernet, plan.supernet_steps)
        trains = self.retrain != "none"
        return recipe, rescale_recipe(self.recipe, network, plan.network_steps) if trains else self.recipe

    def _searcher(self, plan: SearchPlan) -> tuple[Searcher, int | None]:
        """With the plan's sizes, and how many evaluations it may ask for."""
        request, goals = self.request, self.goals
        by_plan = request.preset is None and hasattr(goals.searcher, "generations")
        sizes = (plan.population, plan.generations) if by_plan else (request.population, request.generations)
        searcher = with_sizes(goals.searcher, *sizes, (), len(goals.objectives))
        return searcher, request.evaluations or (plan.evaluations if searcher.needs_budget else None)

    def steps(self, plan: SearchPlan, settings: Mapping[str, Any], send: OnEvent) -> Sequence[Step]:
        """Train, search, compare, test, judge, export; before all that, measure latencies if they are limited."""
        recipe, finished = self._recipes(plan)
        training, scoring = self.training.with_recipe(recipe, plan.supernet_steps), self.scoring
        searcher, evaluations = self._searcher(plan)

        def supernet(run: Run) -> Supernet:
            return trained_supernet(training.supernet, run.path)

        def problem(run: Run) -> SearchProblem:
            table = scoring.latency_table(run)
            return SearchProblem(scoring.space, self.goals.objectives, self.goals.where, layer_cost=table)

        def scorer(run: Run) -> Evaluator:
            return scoring.of_run(run, supernet(run), plan.evaluations)

        def measure_latency(run: Run) -> None:
            send(Event("latency", "measuring the layers of the space"))
            problem(run).sample(np.random.default_rng(0), 1)  # an empty budget is refused now

        def entries(run: Run) -> tuple[list[Candidate], list[str]]:
            chosen = [record.arch for record in read_search(run.path).chosen]
            return candidates(problem(run), chosen, training.seed, self.baselines)

        front = FrontSearch(searcher, problem, scorer, evaluations, plan.evaluations, self.request.keep, training.seed)
        comparison = Comparison(
            space=scoring.space, dataset=training.dataset, loading=training.settings["load"], recipe=finished,
            retrain=self.retrain, score=self._score(), workers=self.workers, seed=training.seed, supernet=supernet,
            scorer=scorer, candidates=entries, baselines=self.baselines,
        )  # fmt: skip
        latency = [Step("latency", LATENCY, measure_latency)] if scoring.latency else []
        return [
            *latency,
            Step(TRAIN, SUPERNET, lambda run: training.fit(run, send)),
            Step(SEARCH, SEARCH_FILE, lambda run: front.run(run, settings, send)),
            *comparison_steps(comparison, send),
        ]

    def _score(self) -> str:
        """The metric by which networks are searched for; validation cross-entropy if only costs are."""
        names = [o.name for o in self.goals.objectives]
        return next((n for n in names if n == RANK or n.startswith("valid/")), SCORE)

    def read(self, path: Path) -> SearchResult:
        """The result, from the run's files."""
        return read_result(path)

    def write_page(self, path: Path) -> None:
        """The report, with drawings of the space."""
        write_report(path, self.space)


# --- preparing --------------------------------------------------------------------------------------------------------


def _goals(request: SearchRequest) -> Goals:
    """Objectives and limits with full names; which score is the default depends on the space, which is chosen later."""
    own = () if request.evaluator is None else request.evaluator.metrics
    names = [
        *COSTS, *(f"valid/{s}" for s in SCORES), SUBSET_TRAINING, RANK, *map(full_name, PROXIES), MILLISECONDS,
        *own,
    ]  # fmt: skip
    score = Objective(ACCURACY if request.preset else RANK, True)
    goals = resolve_goals(names, request.objectives, request.where, request.searcher, request.preset, lambda: score)
    return replace(goals, where=tuple(combine(goals.where).values()))


def _training(request: SearchRequest, goals: Goals, send: OnEvent) -> tuple[PreparedTraining, tuple[str, ...]]:
    """The data checked, the space chosen (and why), the supernet's training prepared, the budget checked."""
    from ...datasets import load

    loading = loading_of(request.data, request.limit, request.seed)
    dataset = load(**loading)
    notes = check_images(dataset)
    hardware = hardware_of(request.device, "no", 1, request.threads)
    space, text, reasons = choose_space(
        dataset, goals.where, request.space, minutes=request.minutes, device=hardware["device"]
    )
    training = prepare_training(
        text if isinstance(request.space, str) else space, loading, hardware=hardware, dataset=dataset,
        sampler=request.sampler, recipe=request.recipe, steps=request.steps, stabiliser=request.stabiliser,
    )  # fmt: skip
    budget = check_budget(training.supernet.space, goals.where)
    for line in dict.fromkeys((*notes, *reasons, *training.notes, *budget)):
        send(Event("prepare", line))
    return training, reasons


def _baselines(request: SearchRequest, training: PreparedTraining) -> dict[str, Baseline]:
    """The user's own networks by name, each built once: a bad one is named now."""
    from ...networks.baselines import baseline

    dataset = training.dataset
    shape = len(dataset.classes), dataset.channels, dataset.resolution
    baselines = [baseline(b, *shape) for b in request.baselines]
    return {BASELINE if len(baselines) == 1 else f"{BASELINE}-{i}": b for i, b in enumerate(baselines, 1)}
