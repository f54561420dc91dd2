"""`search` on images: one command from a folder and a budget to finished models with evidence."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np

from ...costs.budget import budget_sampler
from ...errors import InputError, RunError
from ...evaluators.cost import COSTS
from ...networks.scores import SCORES
from ...objective import Objective, combine
from ...parallel.workers import usual_workers
from ...proxies import PROXIES, full_name
from ...ranking.ensemble import RANK
from ...reports import write_report
from ...result import Result
from ...runs.directory import SETTINGS, TIMINGS, Run, read_settings
from ...runs.location import open_or_resume, resolve_directory
from ...runs.trust import opens_runs
from ...space import Arch, Space
from ..time_plan import RETRAIN, Plan, make_plan, measure, paced
from ..train.prepare import TrainJob, Watch, hardware_of, prepare_training
from . import steps
from .choose_space import check_budget, check_images, choose_space, count_networks
from .goals import Asked, Generation, adjusted, engine_record, settle
from .request import Request
from .result import Found, read_found
from .score import ACCURACY, MILLISECONDS, SCORE, SUBSET_TRAINING, evaluator

RESULT = "result.json"
VOTED = ("choice", "cell")  # ways of sharing weights for which the vote was chosen; others go by cross-entropy
METRICS = [*COSTS, *(f"valid/{s}" for s in SCORES), SUBSET_TRAINING, RANK, *map(full_name, PROXIES), MILLISECONDS]
MEASURED = 24  # architectures that are drawn to see how fast everything is
RENEW = 15.0  # seconds between two renewals of the report within a step
LATENCY = {"engine": "onnx", "threads": 1}  # how milliseconds are measured


@dataclass(frozen=True)
class Planned(Result):
    """A dry run: what would be done."""

    space: str
    data: str
    where: tuple[str, ...]
    objectives: tuple[str, ...]
    plan: dict[str, Any]
    told: tuple[str, ...]
    memory: int  # bytes of weights, gradients and what the optimiser keeps

    def lines(self) -> list[str]:
        """A summary for people."""
        return [
            *self.told,
            f"{self.memory / 2**20:,.0f} MiB for the supernet's training",
            "dry run: nothing was written",
        ]


@opens_runs
def search_images(
    request: Request,
    *,
    out: str | Path | None = None,
    dry_run: bool = False,
    tell: Callable[[str], None] | None = None,
    watch: Watch | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Found | Planned:
    """Train a supernet on the images, search it under the limits, retrain and test the models, export them.

    Controls are trained as the models are: random networks of as many MACs, the largest that fits, a MobileNetV2, and
    the user's own. Where weights are shared elastically, the supernet's own weights are handed over, and trainings from
    scratch serve the comparison. The test split is used once, at the end.

    A run that exists with the same settings is resumed, or read if it is finished. `tell` receives lines of progress,
    `watch` wraps the steps of the supernet's training, `progress` gets (network, steps done, steps in all).
    """
    say = tell or (lambda _: None)
    begin = perf_counter()
    score = Objective(ACCURACY if request.preset else RANK, True)
    wanted = settle(METRICS, request.objectives, request.where, request.searcher, request.preset, lambda: score)
    wanted = replace(wanted, where=tuple(combine(wanted.where).values()))
    training, reasons = _training(request, wanted, say)
    if not (request.objectives or request.preset or training.space.sharing in VOTED):
        wanted = replace(wanted, objectives=(Objective(SCORE, False), *wanted.objectives[1:]))
    record = request.record()
    path = resolve_directory(out, training.space.name, lambda there: there.get("asked") == record)
    job, plan = _settled(request, wanted, training, path, perf_counter() - begin)
    for line in plan.lines():
        say(line)
    if dry_run:
        return Planned(
            training.space.name, training.dataset.name, tuple(map(str, job.where)), tuple(map(str, job.objectives)),
            plan.to_settings(), (*reasons, *plan.lines()), training.result(None, None).memory,
        )  # fmt: skip
    with open_or_resume(path, training.space.name, job.settings) as run:
        if not (run.path / RESULT).exists():
            _run(job, run, say, watch, progress, perf_counter() - begin)
            run.write(RESULT, json.dumps(read_found(run.path).to_json(), indent=1) + "\n")
        return read_found(run.path)


def _run(
    job: steps.Job,
    run: Run,
    say: Callable[[str], None],
    watch: Watch | None,
    progress: Callable[[str, int, int], None] | None,
    spent: float,
) -> None:
    """All steps, each timed, the report renewed after each and on the way."""
    import torch

    torch.set_num_threads(int(job.settings["threads"]))
    page = _Page(run.path, job.space)
    run.append(TIMINGS, [{"task": "plan", "seconds": round(spent, 1)}])
    page.renew(now=True)

    def told(generation: Generation) -> None:
        say(str(generation))
        page.renew()

    def trained(name: str, done: int, all_: int) -> None:
        if progress:
            progress(name, done, all_)
        page.renew()

    if job.latency:
        with _timed(run, "latency", page):
            say("measuring the layers of the space")
            steps.task_of(job, run).sample(np.random.default_rng(0), 1)  # a budget that holds nothing is known now
    with _timed(run, "train", page):
        steps.train(job, run, page.watched(watch))
    with _timed(run, "search", page):
        steps.search(job, run, told)
    with _timed(run, "compare", page):
        entries = steps.compared(job, run, say, trained)
    with _timed(run, "test", page):
        steps.test(job, run, entries)
    with _timed(run, "export", page):
        steps.export(job, run, entries, say)
    steps.require_finished(run)


@contextmanager
def _timed(run: Run, task: str, page: _Page) -> Iterator[None]:
    with run.timed(task):
        yield
    page.renew(now=True)


class _Page:
    """The report, renewed now and then while a step goes on."""

    def __init__(self, path: Path, space: Space) -> None:
        self.path, self.space, self.last = path, space, monotonic()

    def renew(self, *, now: bool = False) -> None:
        """Write the page again, unless that was done a moment ago."""
        if now or monotonic() - self.last > RENEW:
            with suppress(RunError):  # a page must not end a search; `supernetic report` says what is wrong
                write_report(self.path, self.space)
            self.last = monotonic()

    def watched(self, watch: Watch | None) -> Watch:
        """The steps of a training, with the page renewed on the way."""

        def both(training: Any) -> Iterator[Any]:
            for at in watch(training) if watch else training:
                self.renew()
                yield at

        return both


# --- what is settled before the run -----------------------------------------------------------------------------------


def _training(request: Request, wanted: Asked, say: Callable[[str], None]) -> tuple[TrainJob, tuple[str, ...]]:
    """The data checked, the space chosen (and why), the supernet's training prepared, the budget checked."""
    from ...datasets import load

    dataset = load(request.data, limit=request.limit, seed=request.seed)
    notes = check_images(dataset)
    threads = request.threads or max(1, (os.cpu_count() or 1) // 2)
    hardware = {"threads": threads, **hardware_of(request.device, "no", 1)}
    made, text, reasons = choose_space(
        dataset, wanted.where, request.space, minutes=request.minutes, device=hardware["device"]
    )
    training = prepare_training(
        text if isinstance(request.space, str) else made, request.data, request.sampler, request.recipe, request.steps,
        request.stabiliser, request.limit, hardware, request.seed,
    )  # fmt: skip
    to_record = (*notes, *reasons, *training.notes, *check_budget(training.supernet.space, wanted.where))
    for line in dict.fromkeys(to_record):
        say(line)
    return training, reasons


def _settled(request: Request, wanted: Asked, training: TrainJob, path: Path, spent: float) -> tuple[steps.Job, Plan]:
    """The job and its plan: the one that the run at `path` holds, or a new one from what this machine can do."""
    from ...networks.baselines import baseline
    from ...training.loop import plan_for
    from ...training.recipe import read_recipe
    from ...training.recipe import recipe as make_recipe
    from ...training.schedule import plan_of

    space, dataset, supernet = training.supernet.space, training.dataset, training.supernet
    finished = make_recipe(RETRAIN) if request.retrain_recipe is None else read_recipe(request.retrain_recipe)
    if finished.sampler is not None:
        raise InputError(f"{request.retrain_recipe}: a finished network has no paths, but the recipe has a sampler")
    own = tuple(baseline(b, len(dataset.classes), dataset.channels, dataset.resolution) for b in request.baselines)
    mode = request.retrain
    if mode == "auto":
        mode = "check" if space.sharing in ("elastic", "scaled") else "scratch"
    asks_latency = MILLISECONDS in [*(o.name for o in wanted.objectives), *(c.name for c in wanted.where)]
    job = steps.Job(
        training, wanted.objectives, wanted.where, wanted.searcher, request.evaluations, request.keep, mode, finished,
        own, request.workers or usual_workers(), dict(LATENCY) if asks_latency else {}, {},
    )  # fmt: skip
    schedule = plan_for(supernet, training.batches(), training.recipe.sampler, training.recipe)
    after = plan_of(finished, training.batches(finished.batch_size).steps_per_epoch)
    plan = _plan_there(path, request) or _new_plan(request, job, schedule.steps, after.steps, spent)
    by_plan = request.preset is None and hasattr(wanted.searcher, "generations")
    sizes = (plan.population, plan.generations) if by_plan else (request.population, request.generations)
    engine = adjusted(wanted.searcher, *sizes, (), len(wanted.objectives))
    budget = request.evaluations or (plan.evaluations if engine.needs_budget else None)
    recipe = paced(training.recipe, schedule, plan.supernet_steps)
    finished = paced(finished, after, plan.network_steps) if job.trains else finished
    settings = {
        **training.settings,
        "job": "search",
        "steps": plan.supernet_steps,
        "recipe": recipe.settings(),
        "asked": request.record(),
        "plan": plan.to_settings(),
        "retrain": mode,
        "retrain_recipe": finished.settings(),
        "objectives": [str(o) for o in wanted.objectives],
        "where": [str(c) for c in wanted.where],
        "searcher": engine_record(engine),
        "workers": job.workers,
        "keep": request.keep,
        "latency": job.latency or None,
        "evaluations": budget,
    }
    training = replace(training, recipe=recipe, settings={**training.settings, "steps": plan.supernet_steps})
    made = replace(job, training=training, searcher=engine, evaluations=budget, recipe=finished, settings=settings)
    return made, plan


def _new_plan(request: Request, job: steps.Job, supernet_steps: int, network_steps: int, spent: float) -> Plan:
    """From what this machine can do; lengths that were asked for are kept, and nothing is measured if all were."""
    networks = 2 * job.keep + 2 + len(job.baselines) if job.trains else 0
    asked: dict[str, Any] = {
        "supernet_steps": request.steps,
        "population": request.population,
        "generations": request.generations,
        "network_steps": request.network_steps if networks else 0,
    }
    if request.minutes is None and None not in asked.values():
        return Plan(networks=networks, workers=job.workers, models=job.keep, **asked)
    from ...networks.controls import largest

    training = job.training
    speed = measure(
        training.supernet, job.dataset, training.recipe, job.recipe, evaluator(job, training.supernet),
        _drawn(job, MEASURED), largest=largest(job.space, [c for c in job.where if c.name.startswith("cost/")]),
        threads=int(training.settings["threads"]), workers=job.workers,
    )  # fmt: skip
    plan = make_plan(
        speed, request.minutes, supernet_steps=supernet_steps, network_steps=network_steps, networks=networks,
        models=job.keep, workers=job.workers, room=count_networks(job.space, job.where), spent=spent,
        asked={"train": request.steps, "compare": request.network_steps},
    )  # fmt: skip
    return replace(plan, **{k: v for k, v in asked.items() if v})


def _plan_there(path: Path, request: Request) -> Plan | None:
    """The plan of the run at `path`, if it was asked for the same."""
    there = read_settings(path) if (path / SETTINGS).exists() else {}
    return Plan.from_settings(there["plan"]) if there.get("asked") == request.record() else None


def _drawn(job: steps.Job, n: int) -> list[Arch]:
    """Architectures within the budget."""
    cheap = [c for c in job.where if c.name.startswith("cost/")]
    archs, _ = budget_sampler(job.space, cheap).sample(np.random.default_rng(job.seed), n)
    return [tuple(a) for a in archs.tolist()]
