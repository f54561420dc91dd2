"""`scale`: one command from images to a family of models, a base and its scaled siblings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...costs import costs_of
from ...datasets import DataLike, source_of
from ...evaluators import Evaluator
from ...hardware import Hardware, settle_hardware
from ...objective import parse_quantity
from ...progress import Event, OnEvent
from ...reports.scale import write_scale
from ...runs.directory import Run
from ...runs.files import SCALE, SUPERNET
from ...runs.trust import opens_runs
from ...samplers.hierarchical import Hierarchical
from ...scaling.budgets import Budgets
from ...scaling.generalise import DEFAULT_FAMILY
from ...searchers.mcea import MCEA
from ...space import Arch
from ...spaces.scaled import Scaled
from ...tracking import Track
from ..compare.comparison import Comparison
from ..compare.int8 import require_mode
from ..compare.steps import comparison_steps, network_recipe
from ..glance import Part, glance
from ..job import Job, Step, run_job
from ..request_text import Settled, recipe_table, saver
from ..search.choose_space import AUTO, check_images, check_splits
from ..search.score import GLANCE_IMAGES, SCORE
from ..speed import measure
from ..time_plan import rescale_recipe
from ..train.prepare import TRAIN, PreparedTraining, balanced, loading_of, prepare_training
from ..train.supernet_run import trained_supernet
from .plan import ScalePlan, make_plan
from .request import ORDER_NETWORKS, ScaleRequest
from .result import Family, PlannedFamily, read_family
from .space import scaled_space
from .step import MAX_SCORING_IMAGES, OBJECTIVE, SEARCH, FamilySearch, scorer

if TYPE_CHECKING:
    from ...supernets.supernet import Supernet
    from ...training.recipe import Recipe

MEASURING_S = 8.0  # that a run takes to see how fast everything is, about
MEASURED_ARCHS = 12  # that are drawn to see how fast everything is


@opens_runs
def scale(
    data: DataLike = "embedded",
    *,
    space: str = AUTO,
    stages: int = 3,
    base_budget: str | float = AUTO,
    extrapolate: int = 1,
    minutes: float | None = None,
    curve: str = DEFAULT_FAMILY,
    prior: str = "uniform",
    ratio: float = 1.0,
    steps: int | None = None,
    bases: int | None = None,
    rounds: int | None = None,
    population: int | None = None,
    generations: int | None = None,
    network_steps: int | None = None,
    order: int = ORDER_NETWORKS,
    recipe: str | Path | Mapping[str, object] | None = None,
    retrain_recipe: str | Path | Mapping[str, object] | None = None,
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
) -> Family:
    """Search a base model jointly with the strategies that scale it; train, test and export the family.

    A run that exists with the same settings is resumed, or read if it is finished.

    Args:
        data: Images: a name, a folder, an `.npz` or an archive; arrays `(images, labels)`, or a torch `Dataset`.
        space: The space of base models, or `auto`: what suits the images.
        stages: Searched stages beyond the base; stage j has 2^j times the base's MACs.
        base_budget: MACs of the base; by default a round number near the mean of random base models.
        extrapolate: Members beyond the searched stages, by curves through them.
        minutes: Fit everything into this time; by default the recipes' own lengths.
        curve: The family of curves (`scaling.generalise`), or `best`: the least error at a stage left out.
        prior: Of the stages in training: `uniform` or `size`.
        ratio: Weight of a stage in the family's score, relative to the next larger one.
        steps: Updates of the super-supernet.
        bases: Base models that strategies are searched for at first.
        rounds: Alternations between base model and strategies.
        population: Population size of the search.
        generations: Generations of the search.
        network_steps: Updates of each finished network.
        order: Networks by which it is seen whether accuracy follows MACs.
        recipe: Training settings of the super-supernet: a TOML file, or what one would hold.
        retrain_recipe: Training settings of finished networks, likewise.
        limit: Take a subset of this many images.
        threads: Processor threads of the super-supernet's training; half the processors by default.
        workers: Networks that are trained at a time; by default as many as processors, or one per GPU.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the CPU.
        precision: `no` (mixed precision), `fp16` or `bf16`.
        seed: Of all randomness.
        image_size: Pixels of the side that networks are trained and tested at. By default the space's or the data's.
        valid: Validation images: their number or, below 1, their share of the training images, which they are cut
            from. A tenth by default.
        skip_bad: Leave out images that cannot be read; without it, they are refused. The report lists them.
        balance: Of unequal classes: `none`, `weights` (in the loss), `sampling` (equally many images of each in an
            epoch), or `auto`: none, with a word about it.
        int8: Whether models are quantised too: `auto` (where the extra `export` is installed) or `no`.
        out: The run directory.
        dry_run: Check everything, return the plan, and write nothing.
        save: With a dry run: the TOML file to write the request into, with all that was settled. It is run by
            `supernetic scale FILE`, or read by `read_request`.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        track: Trackers that show the job as it runs: `tensorboard`, `wandb`, `mlflow`, or one of your own
            (docs/tracking.md).
        on_event: Receives progress.

    Returns:
        The family with evidence; after a dry run, only `planned` is set.
    """
    request = ScaleRequest(
        source_of(data), space, stages, base_budget, extrapolate, minutes, curve, prior, ratio, steps, bases, rounds,
        population, generations, network_steps, order, recipe, retrain_recipe, limit, threads, workers, device,
        precision, seed, image_size, valid, skip_bad, balance, int8,
    )  # fmt: skip
    saving = saver(save, dry_run, "scale", scale, settled_family)
    family = run_job(
        partial(ScaleJob.prepare, request), out=out, dry_run=dry_run, on_plan=saving, on_event=on_event, track=track
    )
    if save is None or family.planned is None:
        return family
    return replace(family, planned=replace(family.planned, saved=str(save)))


@dataclass(frozen=True)
class ScaleJob(Job[ScalePlan, Family]):
    """A scaling job that is prepared: data checked, space and budgets known, recipes read."""

    kind: ClassVar[str] = "scale"
    uncompared: ClassVar[tuple[str, ...]] = ("workers",)  # those of a cluster come and go; the plan keeps its number

    request: ScaleRequest
    training: PreparedTraining
    budgets: Budgets
    recipe: Recipe  # of finished networks, in its own length
    workers: int
    notes: tuple[str, ...]
    sketch: bool = False  # whether this is a dry run, which measures less

    @classmethod
    def prepare(cls, request: ScaleRequest, send: OnEvent) -> ScaleJob:
        """Load and check everything, before anything is written."""
        request.check_texts()
        training, budgets, notes = _training(request, send)
        for line in notes:
            send(Event("prepare", line))
        recipe, _ = balanced(network_recipe(request.retrain_recipe), request.balance, training.dataset)
        return cls(request, training, budgets, recipe, training.hardware.workers(request.workers), notes)

    @property
    def title(self) -> str:
        """The job's name."""
        return "scale"

    @property
    def hardware(self) -> Hardware:
        """As requested."""
        return self.training.hardware

    @property
    def space(self) -> Scaled:
        """Of finished networks: the base space times its strategies."""
        from ...evaluators.supernet import shared_cells

        space = shared_cells(self.training.supernet.space)
        assert isinstance(space, Scaled)
        return space

    # --- plan ---------------------------------------------------------------------------------------------------------

    def plan(self, earlier: Mapping[str, Any] | None, spent: float) -> ScalePlan:
        """The plan of a run that exists, or a new one; nothing is measured if every length was given."""
        if earlier is not None:
            return ScalePlan.from_settings(earlier["plan"])
        request, budgets = self.request, self.budgets
        members = budgets.stages + request.extrapolate + 1
        targets = [2.0**j * budgets.base for j in range(members)]
        costs = [*targets, *targets, *targets[1:], *([targets[budgets.stages]] if budgets.stages > 1 else [])]
        given: dict[str, Any] = {
            "supernet_steps": request.steps,
            **{k: getattr(request, k) for k in ("network_steps", "bases", "rounds", "population", "generations")},
        }
        if request.minutes is None and None not in given.values():
            return ScalePlan(networks=len(costs), models=members, workers=self.workers, stages=budgets.stages, **given)
        supernet, network = self.training.schedules(self.recipe)
        speed, typical = self._speed()
        plan = make_plan(
            speed, request.minutes, costs, typical, stages=budgets.stages, supernet_steps=supernet.steps,
            network_steps=network.steps, models=members, workers=self.workers, spent=spent,
        )  # fmt: skip
        return replace(plan, **{k: v for k, v in given.items() if v})

    def _speed(self) -> tuple[Any, tuple[float, float]]:
        """How fast everything is, and the MACs of the two networks that were timed."""
        training, rng = self.training, np.random.default_rng(self.request.seed)
        archs: list[Arch] = [tuple(a) for a in Hierarchical("uniform").sample(self.space, rng, MEASURED_ARCHS).tolist()]
        macs = np.sort(costs_of(self.space, np.array(archs, dtype=np.int8)), kind="stable")
        common = training.supernet.space, training.supernet, training.dataset, training.recipe, self.recipe
        where: dict[str, Any] = {"hardware": self.hardware, "workers": self.workers}
        if self.sketch and self.hardware.kind == "cpu":
            few = scorer(self.space, training.dataset, training.supernet, training.seed, GLANCE_IMAGES)
            valid = len(training.dataset.splits["valid"])
            more = min(MAX_SCORING_IMAGES, valid) / min(GLANCE_IMAGES, valid)
            speed = glance(*common, [Part(few, more)], archs, **where, measuring=MEASURING_S)
        else:
            speed = measure(*common, self._scorer(training.supernet), archs, **where)
        return speed, (float(macs[len(macs) // 2]), float(macs[-1]))

    def sketched(self) -> ScaleJob:
        """Speeds are taken at a glance."""
        return replace(self, sketch=True)

    def _scorer(self, supernet: Supernet) -> Evaluator:
        return scorer(self.space, self.training.dataset, supernet, self.training.seed)

    def planned(self, plan: ScalePlan) -> Family:
        """What would be done."""
        space, data = self.training.space.name, self.training.dataset.name
        planned = PlannedFamily(
            self.budgets.targets, plan.to_settings(), (*self.notes, *plan.lines(), self.hardware.line())
        )
        return Family("", space, data, "", (), {}, (), {}, (), planned=planned)

    # --- steps --------------------------------------------------------------------------------------------------------

    def settings(self, plan: ScalePlan) -> dict[str, Any]:
        """Everything that the result depends on."""
        recipe, finished = self._recipes(plan)
        budgets = self.budgets
        return {
            **self.training.with_recipe(recipe, plan.supernet_steps).settings,
            "plan": plan.to_settings(),
            "retrain_recipe": finished.settings(),
            "objectives": [str(OBJECTIVE)],
            "budgets": {"base": budgets.base, "unit": budgets.unit, "stages": budgets.stages},
            "workers": self.workers,
        }

    def _recipes(self, plan: ScalePlan) -> tuple[Recipe, Recipe]:
        """Of the super-supernet and of finished networks, in as many steps as the plan says."""
        supernet, network = self.training.schedules(self.recipe)
        recipe = rescale_recipe(self.training.recipe, supernet, plan.supernet_steps)
        return recipe, rescale_recipe(self.recipe, network, plan.network_steps)

    def steps(self, plan: ScalePlan, settings: Mapping[str, Any], send: OnEvent) -> Sequence[Step]:
        """Train, search, compare, test, judge, export."""
        from ...evaluators.on_cluster import on_workers

        recipe, finished = self._recipes(plan)
        request, training = self.request, self.training.with_recipe(recipe, plan.supernet_steps)
        sizes = plan.bases, plan.rounds, plan.population, plan.generations

        def supernet(run: Run) -> Supernet:
            return trained_supernet(training.supernet, run.path, self.hardware.device)

        family = FamilySearch(
            space=self.space, budgets=self.budgets, searcher=MCEA(self.budgets, *sizes, request.ratio),
            evaluate=lambda run: on_workers(self._scorer(supernet(run))), extrapolate=request.extrapolate,
            curve=request.curve, order=request.order, planned=plan.evaluations, seed=training.seed,
        )  # fmt: skip
        comparison = Comparison(
            space=self.space, dataset=training.dataset, loading=training.settings["load"], recipe=finished,
            retrain="scratch", score=SCORE, workers=self.workers, seed=training.seed, supernet=supernet,
            scorer=family.evaluate, candidates=lambda run: (family.networks(run), ()), derives=False,
            hardware=self.hardware.of_networks, int8=require_mode(request.int8),
        )  # fmt: skip
        return [
            Step(TRAIN, SUPERNET, lambda run: training.fit(run, send)),
            Step(SEARCH, SCALE, lambda run: family.run(run, send)),
            *comparison_steps(comparison, send),
        ]

    def read(self, path: Path) -> Family:
        """The result, from the run's files."""
        return read_family(path)

    def write_page(self, path: Path) -> None:
        """The report."""
        write_scale(path)


def _training(request: ScaleRequest, send: OnEvent) -> tuple[PreparedTraining, Budgets, tuple[str, ...]]:
    """The data checked, the space and its budgets, the super-supernet's training prepared."""
    from ...datasets import outline

    asked = request.image_size, request.valid, request.skip_bad
    loading = loading_of(request.data, request.limit, request.seed, *asked)
    dataset = outline(**loading)  # images are decoded once, when their size is known
    check_splits(dataset)
    budget = None if request.base_budget == AUTO else _macs(request.base_budget)
    space, budgets, more = scaled_space(request.space, dataset, request.stages, budget, request.seed)
    hardware = settle_hardware(request.device, request.precision, 1, request.threads)
    training = prepare_training(
        space, loading, hardware=hardware, dataset=dataset,
        sampler={"name": "hierarchical", "prior": request.prior} if request.recipe is None else None,
        recipe=request.recipe, steps=request.steps, balance=request.balance, on_event=send,
    )  # fmt: skip
    return training, budgets, (*check_images(training.dataset), *more, *training.notes)


def settled_family(job: ScaleJob, plan: ScalePlan) -> dict[str, Settled]:
    """What a dry run settled, by setting."""
    request, settings = job.request, job.settings(plan)
    auto = isinstance(request.base_budget, str) and request.base_budget == AUTO
    recipes = {
        "recipe": Settled(None if request.recipe else recipe_table(settings["recipe"]), "by the space and the plan"),
        "retrain_recipe": Settled(
            None if request.retrain_recipe else recipe_table(settings["retrain_recipe"]), "short trainings"
        ),
    }
    sizes = {
        name: Settled(getattr(plan, name), "by the plan") for name in ("bases", "rounds", "population", "generations")
    }
    return {
        **recipes,
        **sizes,
        "base_budget": Settled(job.budgets.base if auto else None, str(job.budgets) if auto else ""),
        "steps": Settled(plan.supernet_steps, "by the plan"),
        "network_steps": Settled(plan.network_steps, "by the plan"),
        "device": Settled(settings["device"]),
        "threads": Settled(settings["threads"]),
        "workers": Settled(job.workers),
        "image_size": Settled(None, f"networks see {job.training.dataset.resolution} pixels"),
    }


def _macs(text: str | float) -> float:
    return parse_quantity(text) if isinstance(text, str) else float(text)
