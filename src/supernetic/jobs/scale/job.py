"""`scale`: one command from images to a family of models, a base and its scaled siblings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ...costs import costs_of
from ...errors import InputError, RunError, UnknownNameError
from ...objective import Objective, parse_quantity
from ...parallel.workers import usual_workers
from ...reports.scale import write_scale
from ...runs.directory import SETTINGS, TIMINGS, Run, read_settings
from ...runs.location import open_or_resume, resolve_directory
from ...runs.request import save_request, to_record
from ...runs.trust import opens_runs
from ...samplers.hierarchical import Hierarchical
from ...scaling.budgets import MOST_STAGES, Budgets
from ...scaling.generalise import DEFAULT, FAMILIES
from ...searchers.mcea import MCEA
from ...space import Arch
from ..search import steps as shared
from ..search.choose_space import AUTO, check_images
from ..search.goals import at_least
from ..search.score import SCORE
from ..time_plan import RETRAIN, measure, paced
from ..train.prepare import TrainJob, Watch, hardware_of, prepare_training
from . import steps
from .members import BEST
from .plan import ScalePlan, make_plan
from .result import Family, Planned, read_family
from .space import scaled_space

RESULT = "result.json"
MEASURED = 12  # networks that are drawn to see how fast everything is
ORDER = 60  # networks whose accuracy is compared with their MACs
PRIORS = ("uniform", "size")
LEAST = {
    "stages": 1, "extrapolate": 0, "steps": 1, "network_steps": 1, "bases": 1, "rounds": 1, "population": 2,
    "generations": 1, "limit": 1, "threads": 1, "workers": 1, "seed": 0, "order": 0,
}  # fmt: skip


@opens_runs
def scale(
    data: str | Path = "embedded",
    *,
    space: str = AUTO,
    stages: int = 3,
    base_budget: str | float = AUTO,
    extrapolate: int = 1,
    minutes: float | None = None,
    curve: str = DEFAULT,
    prior: str = "uniform",
    ratio: float = 1.0,
    steps: int | None = None,
    bases: int | None = None,
    rounds: int | None = None,
    population: int | None = None,
    generations: int | None = None,
    network_steps: int | None = None,
    order: int = ORDER,
    recipe: str | Path | None = None,
    retrain_recipe: str | Path | None = None,
    limit: int | None = None,
    threads: int | None = None,
    workers: int | None = None,
    device: str = "auto",
    seed: int = 0,
    out: str | Path | None = None,
    dry_run: bool = False,
    tell: Callable[[str], None] | None = None,
    watch: Watch | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    trust_code: bool = False,
) -> Family | Planned:
    """Search a base model jointly with the strategies that scale it; train, test and export the family.

    Stage j has 2^j times the MACs of the base, whose budget is a round number near the mean of random base models
    unless `base_budget` says another. `extrapolate` members follow beyond the searched `stages`, by `curve` (a family
    of `scaling.generalise`, or `best`: the least error at a stage left out). `prior` is that of the stages in training;
    `ratio` weighs a stage against the next larger one in the family's score. `bases`, `rounds`, `population` and
    `generations` are the search's, `order` says on how many networks it is seen whether accuracy follows MACs; the
    rest is as in `search`. A run that exists with the same settings is resumed, or read if it is finished.
    """
    asked = dict(locals())
    for unsaid in ("out", "dry_run", "tell", "watch", "progress", "trust_code"):
        del asked[unsaid]
    say = tell or (lambda _: None)
    begin = perf_counter()
    _check(asked)
    training, budgets, notes = _training(asked)
    for line in notes:
        say(line)
    record = to_record(asked)
    path = resolve_directory(out, "scale", lambda there: there.get("asked") == record)
    made, plan = _settled(asked, record, training, budgets, path, perf_counter() - begin)
    for line in plan.lines():
        say(line)
    if dry_run:
        told = (*notes, *plan.lines())
        return Planned(training.space.name, training.dataset.name, budgets.targets, plan.to_settings(), told)
    with open_or_resume(path, "scale", made.job.settings) as run:
        save_request(run, asked)
        if not (run.path / RESULT).exists():
            _run(made, run, say, watch, progress, perf_counter() - begin)
            run.write(RESULT, json.dumps(read_family(run.path).to_json(), indent=1) + "\n")
        return read_family(run.path)


def _run(
    made: steps.ScaleJob,
    run: Run,
    say: Callable[[str], None],
    watch: Watch | None,
    progress: Callable[[str, int, int], None] | None,
    spent: float,
) -> None:
    """All steps, each timed."""
    import torch

    torch.set_num_threads(int(made.job.settings["threads"]))
    run.append(TIMINGS, [{"task": "plan", "seconds": round(spent, 1)}])
    with run.timed("train"):
        shared.train(made.job, run, watch)
    with run.timed("search"):
        steps.search(made, run, say)
    with run.timed("compare"):
        entries = steps.compared(made, run, progress)
    with run.timed("test"):
        shared.test(made.job, run, entries)
    with run.timed("export"):
        shared.export(made.job, run, entries, say)
    shared.require_finished(run)
    with suppress(RunError):  # a page must not end a job
        write_scale(run.path)


# --- what is settled before the run -----------------------------------------------------------------------------------


def _check(asked: dict[str, Any]) -> None:
    """Refuse numbers and names that cannot be meant, before anything is loaded."""
    for name, least in LEAST.items():
        at_least(name, asked[name], least)
    total = asked["stages"] + asked["extrapolate"]
    if total > MOST_STAGES:
        raise InputError(f"stages and extrapolated ones together must be at most {MOST_STAGES}, got {total}")
    if asked["minutes"] is not None and not 0 < asked["minutes"] < inf:
        raise InputError(f"minutes must be more than 0 and finite, got {asked['minutes']:g}")
    if asked["curve"] not in (*FAMILIES, BEST):
        raise UnknownNameError("family of curves", asked["curve"], (*FAMILIES, BEST))
    if asked["curve"] in FAMILIES and (needed := len(FAMILIES[asked["curve"]].start)) > asked["stages"]:
        raise InputError(f"{asked['curve']} has {needed} parameters: it needs as many stages, got {asked['stages']}")
    if asked["prior"] not in PRIORS:
        raise UnknownNameError("stage prior", asked["prior"], PRIORS)


def _macs(text: str | float) -> float:
    return parse_quantity(text) if isinstance(text, str) else float(text)


def _training(asked: dict[str, Any]) -> tuple[TrainJob, Budgets, list[str]]:
    from ...datasets import load

    dataset = load(asked["data"], limit=asked["limit"], seed=asked["seed"])
    notes = check_images(dataset)
    budget = None if asked["base_budget"] == AUTO else _macs(asked["base_budget"])
    space, budgets, more = scaled_space(asked["space"], dataset, asked["stages"], budget, asked["seed"])
    threads = asked["threads"] or max(1, (os.cpu_count() or 1) // 2)
    hardware = {"threads": threads, **hardware_of(asked["device"], "no", 1)}
    sampler = {"name": "hierarchical", "prior": asked["prior"]} if asked["recipe"] is None else None
    training = prepare_training(
        space, asked["data"], sampler, asked["recipe"], asked["steps"], "", asked["limit"], hardware, asked["seed"]
    )
    return training, budgets, [*notes, *more, *training.notes]


def _settled(
    asked: dict[str, Any], record: dict[str, Any], training: TrainJob, budgets: Budgets, path: Path, spent: float
) -> tuple[steps.ScaleJob, ScalePlan]:
    """The job and its plan: the one that the run at `path` holds, or a new one from what this machine can do."""
    from ...training.loop import plan_for
    from ...training.recipe import read_recipe
    from ...training.recipe import recipe as make_recipe
    from ...training.schedule import plan_of

    finished = make_recipe(RETRAIN) if asked["retrain_recipe"] is None else read_recipe(asked["retrain_recipe"])
    if finished.sampler is not None:
        raise InputError(f"{asked['retrain_recipe']}: a finished network has no paths, but the recipe has a sampler")
    workers = asked["workers"] or usual_workers()
    job = shared.Job(
        training, (Objective(SCORE, False),), (), MCEA(budgets, ratio=asked["ratio"]), None, 0, "scratch", finished, (),
        workers, {}, {},
    )  # fmt: skip
    schedule = plan_for(training.supernet, training.batches(), training.recipe.sampler, training.recipe)
    after = plan_of(finished, training.batches(finished.batch_size).steps_per_epoch)
    there = read_settings(path) if (path / SETTINGS).exists() else {}
    if there.get("asked") == record:
        plan = ScalePlan.from_settings(there["plan"])
    else:
        plan = _new_plan(asked, job, budgets, schedule.steps, after.steps, spent)
    recipe, finished = paced(training.recipe, schedule, plan.supernet_steps), paced(finished, after, plan.network_steps)
    searcher = MCEA(budgets, plan.bases, plan.rounds, plan.population, plan.generations, asked["ratio"])
    settings = {
        **training.settings,
        "job": "scale",
        "steps": plan.supernet_steps,
        "recipe": recipe.settings(),
        "asked": record,
        "plan": plan.to_settings(),
        "retrain_recipe": finished.settings(),
        "objectives": [str(o) for o in job.objectives],
        "budgets": {"base": budgets.base, "unit": budgets.unit, "stages": budgets.stages},
        "workers": workers,
    }
    training = replace(training, recipe=recipe, settings={**training.settings, "steps": plan.supernet_steps})
    job = replace(job, training=training, searcher=searcher, recipe=finished, settings=settings)
    return steps.ScaleJob(job, budgets, asked["extrapolate"], asked["curve"], asked["order"]), plan


def _new_plan(
    asked: dict[str, Any], job: shared.Job, budgets: Budgets, supernet_steps: int, network_steps: int, spent: float
) -> ScalePlan:
    """From what this machine can do; lengths that were asked for are kept, and nothing is measured if all were."""
    members = budgets.stages + asked["extrapolate"] + 1
    targets = [2.0**j * budgets.base for j in range(members)]
    costs = [*targets, *targets, *targets[1:], *([targets[budgets.stages]] if budgets.stages > 1 else [])]
    known = {
        "supernet_steps": asked["steps"],
        "network_steps": asked["network_steps"],
        **{k: asked[k] for k in ("bases", "rounds", "population", "generations")},
    }
    if asked["minutes"] is None and None not in known.values():
        return ScalePlan(networks=len(costs), models=members, workers=job.workers, stages=budgets.stages, **known)
    training, space = job.training, job.space
    rng = np.random.default_rng(asked["seed"])
    archs: list[Arch] = [tuple(a) for a in Hierarchical("uniform").sample(space, rng, MEASURED).tolist()]
    macs = costs_of(space, np.array(archs, dtype=np.int8))
    order = np.argsort(macs, kind="stable")
    speed = measure(
        training.supernet, job.dataset, training.recipe, job.recipe, steps.scorer(job, training.supernet), archs,
        threads=int(training.settings["threads"]), workers=job.workers,
    )  # fmt: skip
    plan = make_plan(
        speed, asked["minutes"], costs, (float(macs[order[len(order) // 2]]), float(macs[order[-1]])),
        stages=budgets.stages, supernet_steps=supernet_steps, network_steps=network_steps, models=members,
        workers=job.workers, spent=spent,
    )  # fmt: skip
    return replace(plan, **{k: v for k, v in known.items() if v})
