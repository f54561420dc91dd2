"""`search` on images: one command from a folder and a budget to finished models with evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ... import catalog
from ...costs.budget import budget_sampler
from ...datasets import DataLike, source_of
from ...errors import InputError
from ...evaluators import Evaluator
from ...evaluators.cost import COSTS
from ...hardware import Hardware, settle_hardware
from ...metrics import label
from ...networks.scores import ALL_SCORES, BY_CLASS
from ...objective import Constraint, Objective, combine
from ...parallel.workers import kept_workers
from ...parallel.world import world_size
from ...progress import Event, OnEvent
from ...proxies import PROXIES, full_name
from ...ranking.ensemble import RANK
from ...reports import write_report
from ...runs.directory import Run
from ...runs.files import AUGMENT, FINISHED_NETWORKS, LATENCY, SUPERNET
from ...runs.files import SEARCH as SEARCH_FILE
from ...runs.records import read_search
from ...runs.trust import opens_runs
from ...samplers.step import Sampler
from ...searchers import Searcher, SearchProblem
from ...space import Arch, Space
from ...text import duration
from ...tracking import Track
from ..compare.candidates import BASELINE, Candidate, candidates
from ..compare.comparison import COMPARE, RECALIBRATION_IMAGES, Comparison
from ..compare.int8 import require_mode
from ..compare.steps import comparison_steps, network_recipe
from ..glance import glance
from ..job import Job, Step, run_job
from ..request_text import saver
from ..speed import measure
from ..time_plan import FINISH, rescale_recipe
from ..train.job import training_memory
from ..train.prepare import TRAIN, PreparedTraining, balanced, loading_of, prepare_training
from ..train.supernet_run import trained_supernet
from .choose_augment import MEASURED_LATER, choose_augment
from .choose_sampler import choose_sampler
from .choose_space import check_budget, check_images, check_splits, choose_space, count_networks
from .goals import Goals, resolve_goals, searcher_record, with_sizes
from .plan import (
    GENERATIONS,
    MIN_SUPERNET_STEPS,
    POPULATION,
    SearchPlan,
    plan_by_recipes,
    plan_by_time,
    plan_untrained,
)
from .race import Race
from .request import SearchRequest
from .result import PlannedSearch, SearchResult, read_result
from .score import ACCURACY, MILLISECONDS, SCORE, SUBSET_TRAINING, Scoring
from .settled import settled_search
from .start import MIN_STEPS as MIN_STARTED_STEPS
from .start import RECALIBRATION_IMAGES as STARTED_RECALIBRATION_IMAGES
from .start import Start, start_of, starting_request
from .step import SEARCH, FrontSearch

if TYPE_CHECKING:
    from ...networks.augmentation import AugmentDecision
    from ...networks.baselines import Baseline
    from ...supernets.supernet import Supernet
    from ...training.recipe import Recipe

RANKED_SHARING = ("choice", "cell")  # ways of sharing weights for which the rank ensemble was chosen
DECIDING = tuple(f"valid/{name}" for name in BY_CLASS)  # metrics that networks are compared by, if an objective says so
NO_EVIDENCE, FULL_EVIDENCE = "none", "full"
CONTROL_KINDS = 4  # controls beside the random ones: plain, resnet, largest, mobilenetv2
MEASURED_ARCHS = 24  # that are drawn to see how fast everything is
MEASURING_S = 2.0  # for which each kind of work is timed, at most
MEASURED_KINDS = 4  # of work, about
LATENCY_ENGINE = {"engine": "onnx", "threads": 1}  # how milliseconds are measured


@opens_runs
def search(
    data: DataLike = "embedded",
    *,
    space: str | Space = "auto",
    where: Sequence[str | Constraint] = (),
    objectives: Sequence[str | Objective] = (),
    minutes: float | None = None,
    keep: int | None = None,
    start: str | None = None,
    supernet: str = "auto",
    evidence: str = "short",
    teacher: bool = False,
    augment: str = "auto",
    retrain: str = "auto",
    baselines: Sequence[str | Path] = (),
    preset: str | None = None,
    searcher: str | Searcher = "nsga2",
    evaluator: Evaluator | None = None,
    population: int | None = None,
    generations: int | None = None,
    evaluations: int | None = None,
    recipe: str | Path | Mapping[str, object] | None = None,
    retrain_recipe: str | Path | Mapping[str, object] | None = None,
    steps: int | None = None,
    network_steps: int | None = None,
    sampler: str | Mapping[str, object] | Sampler | None = None,
    stabiliser: str = "",
    limit: int | None = None,
    threads: int | None = None,
    workers: int | None = None,
    device: str = "auto",
    precision: str = "no",
    seed: int = 0,
    image_size: int | None = None,
    valid: float | None = None,
    skip_bad: bool = False,
    balance: str = "auto",
    int8: str = "auto",
    out: str | Path | None = None,
    dry_run: bool = False,
    save: str | Path | None = None,
    trust_code: bool = False,
    track: Track = (),
    on_event: OnEvent | None = None,
) -> SearchResult:
    """From images, limits and minutes to a finished model: search, race the candidates, train the winner to the end.

        supernetic.search("photos/", where=["macs<=20M"], minutes=60)

    Controls race with the candidates: a plain stack of convolutions, a ResNet, random networks, the largest that fits,
    a MobileNetV2, and the user's own. The test split is used once, at the end. A run that exists with the same settings
    is resumed, or read if it is finished.

    Args:
        data: Images: a name, a folder, an `.npz` or an archive; arrays `(images, labels)`, or a torch `Dataset`.
        space: A space, its text, a file that declares one, or `auto`: what suits the images and the budget.
        where: Limits such as `macs<=20M` or `latency/ms<=5`.
        objectives: `max NAME` or `min NAME`; by default the best score and the least MACs.
        minutes: The time for everything, most of which trains the recommended model. By default there is no limit, and
            the recipes' own lengths decide.
        keep: Models to hand over at most: the recommended one and cheaper ones. By default one for every 20 minutes,
            at most 5.
        start: A pretrained network, `efficientnet-lite0`, `-lite1` or `-lite2` (extra `pretrained`): the search is
            among the networks inside of it, which keep its weights (docs/transfer.md).
        supernet: Whether a supernet is trained: `yes`, `no`, or `auto`: where nothing else can do what is asked for, or
            where there is no time limit.
        evidence: `short`: controls are trained for as long as all networks are in the first round of the race; `full`:
            for as long as the recommended model; `none`: there are no controls but the user's own.
        teacher: Spend part of the time on a larger network, from whose answers the recommended model learns.
        augment: How training images vary: `none`, `light`, `light+flip`, ..., or `auto`: mirrored only if a measurement
            shows that mirroring does not change what they mean. A recipe file's own setting comes before `auto`.
        retrain: `scratch`, `inherit` (from the supernet's weights), `none`, or `auto`: by the space's sharing. Where
            weights are shared elastically, `auto` exports the supernet's own and trains from scratch to compare.
        baselines: Networks to compare with: Python files with `build(classes, in_channels, resolution)`, or
            `timm:NAME`, or `timm:NAME@fresh` with random weights.
        preset: `scarlet`: the objectives, weights and limits of SCARLET-NAS.
        searcher: A name, with settings as in `local:improve=best`, or a searcher of your own.
        evaluator: An evaluator of your own; objectives and limits may name its metrics.
        population: Population size of the searcher.
        generations: Generations of the searcher.
        evaluations: Stop after this many.
        recipe: Training settings of the supernet: a TOML file, or what one would hold.
        retrain_recipe: Training settings of finished networks, likewise.
        steps: Updates of the supernet.
        network_steps: Updates of each finished network.
        sampler: How paths are drawn; by default by the space's sharing.
        stabiliser: `skip`, `skip+pool` or `relu`; `skip:identity` starts as the skip that it replaces.
        limit: Take a subset of this many images.
        threads: Processor threads of the supernet's training; half the processors by default.
        workers: Networks that are trained at a time; by default as many as processors, or one per GPU.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the CPU.
        precision: `no` (mixed precision), `fp16` or `bf16`.
        seed: Of all randomness.
        image_size: Pixels of the side that networks are trained and tested at. By default the space's or the data's.
        valid: Validation images: their number or, below 1, their share of the training images, which they are cut
            from. A tenth by default.
        skip_bad: Leave out images that cannot be read; without it, they are refused. The report lists them.
        balance: Of unequal classes: `none`, `weights` (in the loss), `sampling` (equally many images of each in an
            epoch), or `auto`: sampling, if the largest class has more than three times the images of the smallest and
            an objective names `f1` or `balanced_accuracy`.
        int8: Whether models are quantised too: `auto` (where the extra `export` is installed) or `no`.
        out: The run directory.
        dry_run: Check everything, return the plan, and write nothing.
        save: With a dry run: the TOML file to write the request into, with all that was settled. It is run by
            `supernetic search FILE`, or read by `read_request`.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        track: Trackers that show the job as it runs: `tensorboard`, `wandb`, `mlflow`, or one of your own
            (docs/tracking.md).
        on_event: Receives progress.

    Returns:
        The models with evidence; after a dry run, only `planned` is set.
    """
    request = SearchRequest(
        data=source_of(data), space=space, objectives=objectives, where=where, minutes=minutes, keep=keep,
        start=start, supernet=supernet, evidence=evidence, teacher=teacher, augment=augment,
        preset=preset, searcher=searcher, evaluator=evaluator, population=population, generations=generations,
        evaluations=evaluations, retrain=retrain, baselines=baselines, recipe=recipe,
        retrain_recipe=retrain_recipe, steps=steps, network_steps=network_steps, sampler=sampler,
        stabiliser=stabiliser, limit=limit, threads=threads, workers=workers, device=device, precision=precision,
        seed=seed, image_size=image_size, valid=valid, skip_bad=skip_bad, balance=balance, int8=int8,
    )  # fmt: skip
    saving = saver(save, dry_run, "search", search, settled_search)
    with kept_workers():  # every round of the race needs them again
        prepare = partial(SearchJob.prepare, request)
        result = run_job(prepare, out=out, dry_run=dry_run, on_plan=saving, on_event=on_event, track=track)
    if save is None or result.planned is None:
        return result
    return replace(result, planned=replace(result.planned, saved=str(save)))


@dataclass(frozen=True)
class SearchJob(Job[SearchPlan, SearchResult]):
    """A search that is prepared: data checked, space chosen, recipes read, the budget known to hold networks."""

    kind: ClassVar[str] = "search"
    uncompared: ClassVar[tuple[str, ...]] = ("workers",)  # those of a cluster come and go; the plan keeps its number

    request: SearchRequest
    goals: Goals
    training: PreparedTraining
    recipe: Recipe  # of finished networks, in its own length
    baselines: Mapping[str, Baseline]
    supernet: bool  # whether one is trained
    retrain: str
    workers: int
    reasons: tuple[str, ...]  # why this space, and why a supernet or none
    decides: str = ACCURACY  # the metric of validation images by which networks are compared
    start: Start | None = None  # the pretrained network that the supernet begins with
    sampled: str = ""  # on which networks the supernet is trained, if not on all of the space
    sketch: bool = False  # whether this is a dry run, which measures less

    @classmethod
    def prepare(cls, request: SearchRequest, send: OnEvent) -> SearchJob:
        """Load and check everything, before anything is written."""
        request.check_texts()
        if request.minutes is not None and world_size() > 1:
            raise InputError(
                f"a search within a time limit trains on one machine or on a --cluster, not by torchrun: leave out "
                f"minutes, got {request.minutes:g}"
            )
        goals = _goals(request)
        loading: Mapping[str, Any] = {}
        if request.start is not None:
            request, loading = starting_request(request)
        supernet, reason = _needs_supernet(request, goals)
        meant = _meant(request)
        for line in meant:
            send(Event("prepare", line))
        training, reasons, sampled = _training(request, goals, loading, supernet, send)
        decides, why = _decides(goals)
        for line in (reason, *why):
            send(Event("prepare", line))
        if not supernet:
            goals = _without_supernet(goals)
        by_rank = request.objectives or request.preset or training.space.sharing in RANKED_SHARING or not supernet
        if not by_rank:
            goals = replace(goals, objectives=(Objective(SCORE, False), *goals.objectives[1:]))
        mode = request.retrain
        if mode == "auto":
            mode = "check" if supernet and training.space.sharing in ("elastic", "scaled") else "scratch"
        _check_searcher(request, goals, training)
        own, alike = network_recipe(request.retrain_recipe), decides != ACCURACY
        recipe, told = balanced(own, request.balance, training.dataset, classes_alike=alike)
        baselines = _baselines(request, training)
        workers = training.hardware.workers(request.workers)
        reasons = (*meant, *reasons, reason, *why, *told)
        start = start_of(request, training.space, training.dataset, training.hardware.device)
        return cls(
            request, goals, training, recipe, baselines, supernet, mode, workers, reasons, decides, start, sampled
        )

    @property
    def title(self) -> str:
        """The space's name."""
        return self.training.space.name

    @property
    def hardware(self) -> Hardware:
        """As requested."""
        return self.training.hardware

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
        return Scoring(
            self.space, training.dataset, names, training.seed, latency, own, self.supernet, training.hardware,
            images=self._recalibration_images,
        )  # fmt: skip

    @property
    def _recalibration_images(self) -> int:
        return RECALIBRATION_IMAGES if self.start is None else STARTED_RECALIBRATION_IMAGES

    # --- plan ---------------------------------------------------------------------------------------------------------

    def plan(self, earlier: Mapping[str, Any] | None, spent: float) -> SearchPlan:
        """The plan of a run that exists, or a new one; speed is not measured if every length was given."""
        if earlier is not None:
            return SearchPlan.from_settings(earlier["plan"])
        begin = perf_counter()
        decision, minutes = self._augmentation(), self.request.minutes
        images, head = 0, 0.0
        if self.start is not None:
            images, head = self.start.head_images(None if minutes is None else 60 * minutes)
        plan = self._plan_work(spent + perf_counter() - begin + head)
        return replace(plan, augment=decision.augment, augment_reason=decision.reason, head_images=images)

    def _augmentation(self) -> AugmentDecision:
        """As requested, as a recipe file says, or by a short measurement."""
        from ...networks.augmentation import AUTO, AugmentDecision

        request, training = self.request, self.training
        if request.augment == AUTO and request.retrain_recipe is not None:
            return AugmentDecision(self.recipe.augment or "none", "As the recipe says.")
        if request.augment == AUTO and self.sketch:
            return AugmentDecision(self.recipe.augment or "none", MEASURED_LATER)
        return choose_augment(
            request.augment, training.dataset, self.recipe, seed=training.seed, minutes=request.minutes,
            network_steps=request.network_steps, hardware=self.hardware.of_networks,
        )  # fmt: skip

    def _plan_work(self, spent: float) -> SearchPlan:
        request, trains = self.request, self.retrain != "none"
        models = request.models
        population, generations = self._sizes()
        if request.minutes is not None and trains:
            plan = plan_by_time(
                self._speed(), request.minutes, models=models, workers=self.workers, supernet=self.supernet,
                least_steps=MIN_SUPERNET_STEPS if self.start is None else MIN_STARTED_STEPS,
                controls=0 if request.evidence == NO_EVIDENCE else CONTROL_KINDS,
                room=count_networks(self.space, self.goals.where), spent=spent, searcher=(population, generations),
                teacher=request.teacher,
                requested={TRAIN: request.steps, SEARCH: request.evaluations, COMPARE: request.network_steps},
            )  # fmt: skip
            if request.teacher and not plan.teacher:
                raise InputError(
                    f"a teacher needs a race, for which {duration(plan.limit)} are too short here: give more minutes "
                    "or leave the teacher out"
                )
            return plan
        if request.minutes is not None:
            return plan_untrained(
                self._speed(), request.minutes, models=models, workers=self.workers, spent=spent,
                room=count_networks(self.space, self.goals.where), searcher=(population, generations),
                requested={TRAIN: request.steps, SEARCH: request.evaluations},
            )  # fmt: skip
        controls = 0 if request.evidence == NO_EVIDENCE else models + CONTROL_KINDS
        networks = models + controls + len(self.baselines) if trains else 0
        given: dict[str, Any] = {
            "supernet_steps": request.steps if self.supernet else 0,
            "population": population,
            "generations": generations,
            "network_steps": request.network_steps if trains else 0,
        }
        if None not in given.values():
            return SearchPlan(networks=networks, workers=self.workers, models=models, **given)
        supernet, network = self.training.schedules(self.recipe)
        plan = plan_by_recipes(
            self._speed(), supernet_steps=supernet.steps if self.supernet else 0, network_steps=network.steps,
            networks=networks, models=models, workers=self.workers,
            room=count_networks(self.space, self.goals.where),
            sizes=(population or POPULATION, generations or GENERATIONS),
            requested={TRAIN: request.steps, SEARCH: request.evaluations, COMPARE: request.network_steps},
        )  # fmt: skip
        return replace(plan, **{k: v for k, v in given.items() if v})

    def _sizes(self) -> tuple[int | None, int | None]:
        """Population and generations that the user set, or that a preset has where there is no time limit."""
        request, searcher = self.request, self.goals.searcher
        named = catalog.named_settings(request.searcher) if isinstance(request.searcher, str) else ()
        of_preset = request.preset is not None and request.minutes is None

        def own(name: str) -> int | None:
            size: int | None = getattr(searcher, name, None) if of_preset or name in named else None
            return size

        return request.population or own("population"), request.generations or own("generations")

    def _speed(self) -> Any:
        from ...networks.controls import largest

        training, cheap = self.training, [c for c in self.goals.where if c.name.startswith("cost/")]
        drawn, _ = budget_sampler(self.space, cheap).sample(np.random.default_rng(training.seed), MEASURED_ARCHS)
        archs: list[Arch] = [tuple(a) for a in drawn.tolist()]
        supernet = training.supernet if self.supernet else None
        seconds = MEASURING_S if self.request.minutes is None else min(MEASURING_S, max(0.3, self.request.minutes / 10))
        common = self.space, supernet, training.dataset, training.recipe, self.recipe
        where: dict[str, Any] = {
            "largest": largest(self.space, cheap), "hardware": self.hardware, "workers": self.workers,
        }  # fmt: skip
        if self.sketch and self.hardware.kind == "cpu":
            parts = self.scoring.parts_at_a_glance(supernet)
            return glance(*common, parts, archs, **where, measuring=MEASURED_KINDS * seconds)
        return measure(*common, self.scoring.evaluator(supernet), archs, **where, seconds=seconds)

    def sketched(self) -> SearchJob:
        """Speeds are taken at a glance, and whether images may be mirrored is left to the run."""
        return replace(self, sketch=True)

    def planned(self, plan: SearchPlan) -> SearchResult:
        """What would be done."""
        space, data = self.training.space.name, self.training.dataset.name
        planned = PlannedSearch(
            where=tuple(map(str, self.goals.where)),
            objectives=tuple(map(str, self.goals.objectives)),
            plan=plan.to_settings(),
            text=(*self.reasons, *filter(None, [self.sampled]), *plan.lines(), self.hardware.line()),
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
            "keep": plan.models,
            "latency": self.scoring.latency or None,
            "evaluations": evaluations,
        }

    def _recipes(self, plan: SearchPlan) -> tuple[Recipe, Recipe]:
        """Of the supernet and of finished networks, in as many steps as the plan says."""
        supernet, network = self.training.schedules(self.recipe)
        recipe, finished = self.training.recipe, replace(self.recipe, augment=plan.augment)
        if self.request.recipe is None:
            recipe = replace(recipe, augment=plan.augment)
        recipe = rescale_recipe(recipe, supernet, max(1, plan.supernet_steps))
        return recipe, rescale_recipe(finished, network, plan.network_steps) if plan.network_steps else finished

    def _searcher(self, plan: SearchPlan) -> tuple[Searcher, int | None]:
        """With the plan's sizes, and how many evaluations it may ask for."""
        request, goals = self.request, self.goals
        by_plan, in_rounds = hasattr(goals.searcher, "generations"), hasattr(goals.searcher, "rounds")
        sizes = (plan.population, plan.generations) if by_plan else (request.population, request.generations)
        if in_rounds:
            sizes = max(2, plan.population), plan.generations  # it has no tournaments of one
        searcher = with_sizes(goals.searcher, *sizes, (), len(goals.objectives))
        too_long = request.minutes is not None and in_rounds  # the plan is of one round
        return searcher, request.evaluations or (plan.evaluations if searcher.needs_budget or too_long else None)

    def steps(self, plan: SearchPlan, settings: Mapping[str, Any], send: OnEvent) -> Sequence[Step]:
        """Train, search, compare, test, judge, export; before all that, measure latencies if they are limited."""
        recipe, finished = self._recipes(plan)
        training, scoring = self.training.with_recipe(recipe, plan.supernet_steps), self.scoring
        searcher, evaluations = self._searcher(plan)

        def supernet(run: Run) -> Supernet:
            return trained_supernet(training.supernet, run.path, self.hardware.device)

        def problem(run: Run) -> SearchProblem:
            table = scoring.latency_table(run)
            return SearchProblem(scoring.space, self.goals.objectives, self.goals.where, layer_cost=table)

        def scorer(run: Run) -> Evaluator:
            return scoring.of_run(run, supernet(run) if self.supernet else None, plan.evaluations)

        def measure_latency(run: Run) -> None:
            send(Event("latency", "measuring the layers of the space"))
            problem(run).sample(np.random.default_rng(0), 1)  # an empty budget is refused now

        def entries(run: Run) -> tuple[list[Candidate], list[str]]:
            found = read_search(run.path)
            archs = [record.arch for record in (*found.contenders, *found.chosen[::-1])]
            chosen = list(dict.fromkeys(map(scoring.space.canonical, archs)))
            controls = self.request.evidence != NO_EVIDENCE
            most = plan.networks if plan.rounds else None
            return candidates(
                problem(run), chosen, training.seed, self.baselines, controls=controls, most=most,
                standard=self.start is None,
            )  # fmt: skip

        contenders = plan.networks if plan.rounds else 0
        front = FrontSearch(
            searcher, problem, scorer, evaluations, plan.evaluations, plan.models, contenders, training.seed
        )
        comparison = Comparison(
            space=scoring.space, dataset=training.dataset, loading=training.settings["load"], recipe=finished,
            retrain=self.retrain, score=self._score(), workers=self.workers, seed=training.seed,
            supernet=supernet if self.supernet else None, scorer=scorer, candidates=entries, baselines=self.baselines,
            compares_finished=self.request.evidence == FULL_EVIDENCE and bool(plan.limit),
            hardware=self.hardware.of_networks, decides=self.decides,
            int8=require_mode(self.request.int8), recalibration_images=self._recalibration_images,
        )  # fmt: skip
        race = Race(comparison, plan, plan.models, self.request.evidence, self.goals.where)
        if plan.rounds:
            comparison = replace(comparison, lengths=race.first_lengths)

        def preview(run: Run) -> None:
            from ...networks.augment_preview import write_preview
            from ...networks.augmentation import AugmentDecision

            write_preview(run, training.dataset, AugmentDecision(plan.augment, plan.augment_reason), training.seed)

        def train_supernet(run: Run) -> None:
            if self.start is not None:
                self.start.load_into(training.supernet, run)
            training.fit(run, send)

        latency = [Step("latency", LATENCY, measure_latency)] if scoring.latency else []
        head = [] if self.start is None else self.start.steps(plan.head_images, "flip" in plan.augment.split("+"), send)
        train = [*head, Step(TRAIN, SUPERNET, train_supernet)] if self.supernet else []
        return [
            Step("augment", AUGMENT, preview),
            *latency,
            *train,
            Step(SEARCH, SEARCH_FILE, lambda run: front.run(run, settings, send)),
            *comparison_steps(comparison, send, Step(FINISH, FINISHED_NETWORKS, lambda run: race.finish(run, send))),
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
        *COSTS, *(f"valid/{s}" for s in ALL_SCORES), SUBSET_TRAINING, RANK, *map(full_name, PROXIES), MILLISECONDS,
        *own,
    ]  # fmt: skip
    score = Objective(ACCURACY if request.preset else RANK, True)
    goals = resolve_goals(names, request.objectives, request.where, request.searcher, request.preset, lambda: score)
    return replace(goals, where=tuple(combine(goals.where).values()))


def _meant(request: SearchRequest) -> tuple[str, ...]:
    """Which metric a short name stands for, where there are several of that name: of other images, or other weights."""
    asked = [w.partition(">")[0].partition("<")[0].partition(" in ")[0] for w in request.where if isinstance(w, str)]
    asked += [o.partition(" ")[2] for o in request.objectives if isinstance(o, str)]
    short = [name for name in dict.fromkeys(a.strip() for a in asked) if name in ALL_SCORES]
    return tuple(f"{name} means valid/{name}: on validation images; test images decide nothing" for name in short)


def _decides(goals: Goals) -> tuple[str, tuple[str, ...]]:
    """The metric by which trained networks are compared, and why if it is not accuracy."""
    named = [o.name for o in goals.objectives if o.maximise and o.name in DECIDING]
    if not named:
        return ACCURACY, ()
    return named[0], (f"networks are compared by {label(named[0])}, which an objective names, not by accuracy",)


def _without_supernet(goals: Goals) -> Goals:
    """Scores that only a supernet or a training gives are left to the race: until then, the rank ensemble stands in."""
    objectives = [Objective(RANK, True) if o.name in DECIDING else o for o in goals.objectives]
    return replace(goals, objectives=tuple(dict.fromkeys(objectives)))


def _needs_supernet(request: SearchRequest, goals: Goals) -> tuple[bool, str]:
    """Whether a supernet is trained, and why."""
    objectives = [o.name for o in goals.objectives if o.name not in DECIDING]  # those are measured in the race
    names = [*objectives, *(c.name for c in goals.where)]
    given = {
        "--start": request.start is not None,
        f"--retrain {request.retrain}": request.retrain in ("inherit", "none"),
        "--recipe": request.recipe is not None,
        "--steps": request.steps is not None,
        "--sampler": request.sampler is not None,
        "--stabiliser": bool(request.stabiliser),
        **{name: name.startswith("valid/") and name != SUBSET_TRAINING for name in names},
    }
    reason = next((name for name, needed in given.items() if needed), "")
    if request.supernet == "no" and reason:
        raise InputError(f"{reason} needs a supernet, got --supernet no")
    if reason:
        return True, f"a supernet is trained, which {reason} needs"
    if request.supernet == "yes":
        return True, "a supernet is trained, as asked for"
    if request.supernet == "no" or request.minutes is not None:
        return False, "no supernet: within a time limit, short trainings take its place; --supernet yes trains one"
    return True, "a supernet is trained: there is no time limit"


def _training(
    request: SearchRequest, goals: Goals, more: Mapping[str, Any], supernet: bool, send: OnEvent
) -> tuple[PreparedTraining, tuple[str, ...], str]:
    """The data checked, space and sampler chosen (and why), the supernet's training prepared, the budget checked."""
    from ...datasets import outline

    asked = request.image_size, request.valid, request.skip_bad
    loading = {**loading_of(request.data, request.limit, request.seed, *asked), **more}
    dataset = outline(**loading)  # images are decoded once, when their size is known
    check_splits(dataset)
    hardware = settle_hardware(request.device, request.precision, 1, request.threads)
    space, text, reasons = choose_space(
        dataset, goals.where, request.space, minutes=request.minutes, device=hardware.kind,
        image_size=request.image_size,
    )  # fmt: skip
    sampler, note = request.sampler, ""
    if request.minutes is not None and supernet and not (sampler or request.recipe or request.preset or request.start):
        sampler, note = choose_sampler(space, goals.where)
    training = prepare_training(
        text if isinstance(request.space, str) else space, loading, hardware=hardware, dataset=dataset,
        sampler=sampler, recipe=request.recipe, steps=request.steps, stabiliser=request.stabiliser,
        balance=request.balance, classes_alike=_decides(goals)[0] != ACCURACY, on_event=send,
        start=request.start,
    )  # fmt: skip
    notes = check_images(training.dataset)
    budget = check_budget(training.supernet.space, goals.where)
    for line in dict.fromkeys((*notes, *reasons, *training.notes, *budget, note)):
        if line:
            send(Event("prepare", line))
    return training, reasons, note


def _check_searcher(request: SearchRequest, goals: Goals, training: PreparedTraining) -> None:
    """Let a searcher of the catalogue ask once: one that does not suit space or objectives is refused now."""
    from ...evaluators.supernet import shared_cells

    if isinstance(request.searcher, str):
        searcher = with_sizes(goals.searcher, request.population, request.generations, (), len(goals.objectives))
        problem = SearchProblem(shared_cells(training.supernet.space), goals.objectives, goals.where)
        asking = searcher.search(problem, np.random.default_rng(training.seed))
        next(asking, None)
        asking.close()


def _baselines(request: SearchRequest, training: PreparedTraining) -> dict[str, Baseline]:
    """The user's own networks by name, each built once: a bad one is named now."""
    from ...networks.baselines import baseline

    dataset = training.dataset
    shape = len(dataset.classes), dataset.channels, dataset.resolution
    baselines = [baseline(b, *shape) for b in request.baselines]
    return {BASELINE if len(baselines) == 1 else f"{BASELINE}-{i}": b for i, b in enumerate(baselines, 1)}
