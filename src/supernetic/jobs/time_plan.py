"""The plan of a search: how long each step may take, from a few seconds of measuring; fixed in steps ever after.

Of the time there is, the supernet gets 45 parts, the search 10 and the trainings of finished networks 40, once export
and report are paid for. What the search cannot use (there are only so many networks) goes to the other two.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapreplace
from itertools import islice
from math import ceil, sqrt
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..costs import costs_of
from ..errors import InputError
from ..result import Result
from ..space import Arch
from ..text import duration

if TYPE_CHECKING:
    from ..blueprint import Blueprint
    from ..datasets import Dataset
    from ..evaluators import Evaluator
    from ..supernets.supernet import Supernet
    from ..training.recipe import Recipe
    from ..training.schedule import Plan as Schedule

# What was measured for it, and what was not: docs/decisions/0006-plan.md.
# At 500 steps of 64 images .1, .2 and .4 gave 88.0, 87.8 and 88.4 % on the embedded data, .05 gave 85.4, shifts 82.9.
RETRAIN = {
    "title": "default for finished networks",
    "source": "ours: modest, for small networks",
    "length": "30 epochs",
    "batch_size": 128,
    "augment": "flip",
    "lr": 0.2,
    "nesterov": True,
    "weight_decay": 5e-4,
    "warmup": "1 epoch",
    "label_smoothing": 0.1,
    "clip_norm": 5.0,
}
TRAIN, SEARCH, COMPARE, EXPORT = "train", "search", "compare", "export"  # names of the steps in a run's timings
SHARES = {TRAIN: 45, SEARCH: 10, COMPARE: 40}
LEAST = {TRAIN: 100, SEARCH: 40, COMPARE: 60}  # supernet steps, evaluations, steps of a network: below, all is noise
MOST = 10  # times a recipe's own length: longer does not help
POPULATION, GENERATIONS = 50, 18
FIRST = 2  # generations that are drawn before any is bred
MARGIN = 0.95  # of the time is planned
EXPORTING = 6.0  # seconds per model: files, ONNX and reading it again
REPORTING = 10.0  # seconds for the rest: libraries that export needs, test, report
WARM = 2  # steps that are not timed: memory is allocated, kernels are chosen


@dataclass(frozen=True)
class Speed:
    """Seconds that were measured, each under the conditions of its step."""

    supernet_step: float
    evaluation: float  # of an architecture among others, with which it shares beginnings
    network_step: float  # of a typical network while all workers are at work
    largest_step: float  # of the largest
    start: float = 0.0  # until a worker is at work
    measuring: float = 0.0  # that all this took


@dataclass(frozen=True)
class Plan(Result):
    """What a search will do, in steps, and the seconds that each part should take."""

    supernet_steps: int
    population: int
    generations: int
    networks: int  # that are trained from scratch: the chosen ones and the controls
    network_steps: int  # of each
    workers: int
    models: int  # that are exported
    seconds: Mapping[str, float] = field(default_factory=dict)  # empty if nothing was measured

    @property
    def evaluations(self) -> int:
        """Architectures that the search may evaluate."""
        return self.population * (FIRST + self.generations)

    def to_settings(self) -> dict[str, Any]:
        """A table for `run.toml`."""
        return {**dataclasses.asdict(self), "seconds": {k: round(s, 1) for k, s in self.seconds.items()}}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Plan:
        """The plan that `to_settings` wrote."""
        return cls(**{**settings, "seconds": dict(settings["seconds"])})

    def lines(self) -> list[str]:
        """One line per part."""
        at_once = f", {self.workers} at a time" if self.workers > 1 and self.networks > 1 else ""
        texts = {
            TRAIN: f"train the supernet: {self.supernet_steps:,} steps",
            SEARCH: f"search: {self.evaluations:,} networks, {self.population} a generation",
            COMPARE: f"train {self.networks} networks for {self.network_steps:,} steps each{at_once}",
            EXPORT: f"export {self.models} models and report",
        }
        if not self.networks:
            del texts[COMPARE]
        if not self.seconds:
            return list(texts.values())
        told = [f"{text}, about {duration(self.seconds[k])}" for k, text in texts.items()]
        return [*told, f"in all about {duration(sum(self.seconds.values()))}"]


# --- planning ---------------------------------------------------------------------------------------------------------


def make_plan(
    speed: Speed,
    minutes: float | None,
    *,
    supernet_steps: int,
    network_steps: int,
    networks: int,
    models: int,
    workers: int,
    room: int | None = None,
    spent: float = 0.0,
    asked: Mapping[str, int | None] | None = None,
) -> Plan:
    """Fit a search into `minutes`, of which `spent` seconds were over before measuring; without, as the recipes say.

    `supernet_steps` and `network_steps` are the recipes' own lengths, `networks` how many are trained to the end (the
    largest among them), `room` how many different networks keep the budget, where that is known. Numbers of steps or
    evaluations that were `asked` for, by part (`train`, `search`, `compare`), are taken; the rest is fitted around.
    """
    most = min(POPULATION * (FIRST + GENERATIONS), room or POPULATION * (FIRST + GENERATIONS))
    fixed = models * EXPORTING + REPORTING + (speed.start if networks else 0.0)
    pace = {TRAIN: speed.supernet_step, SEARCH: speed.evaluation, COMPARE: _span(speed, networks, workers)}
    given = {k: n for k, n in (asked or {}).items() if n is not None}
    if minutes is None:
        steps = {TRAIN: supernet_steps, SEARCH: most, COMPARE: network_steps} | given
    else:
        if not minutes > 0:
            raise InputError(f"--minutes must be more than 0, got {minutes:g}")
        least = LEAST | {SEARCH: min(LEAST[SEARCH], most)} | given
        limits = {TRAIN: MOST * supernet_steps, SEARCH: most, COMPARE: MOST * network_steps} | given
        fixed += spent + speed.measuring
        left = MARGIN * 60 * minutes - fixed
        needed = sum(least[k] * pace[k] for k in pace)
        if left < needed:
            enough = ceil((needed + fixed) / MARGIN / 60 * 2) / 2
            raise InputError(
                f"--minutes {minutes:g} is too short for {least[TRAIN]} steps of the supernet, {least[SEARCH]} "
                f"evaluations and {networks} trainings of {least[COMPARE]} steps: it takes about {enough:g}"
            )
        steps = _fitted(left, pace, least, {k: max(limits[k], least[k]) for k in limits})
    population, generations = _generations(steps[SEARCH])
    plan = Plan(
        supernet_steps=steps[TRAIN],
        population=population,
        generations=generations,
        networks=networks,
        network_steps=steps[COMPARE] if networks else 0,
        workers=workers,
        models=models,
    )
    used = {TRAIN: plan.supernet_steps, SEARCH: plan.evaluations, COMPARE: plan.network_steps}
    seconds = {k: used[k] * pace[k] for k in used}
    seconds[COMPARE] += speed.start if networks else 0.0
    return dataclasses.replace(plan, seconds={**seconds, EXPORT: models * EXPORTING + REPORTING})


def _span(speed: Speed, networks: int, workers: int) -> float:
    """Seconds for one step of all trainings, the largest network's first, dealt to whichever worker is free."""
    if not networks:
        return 0.0
    busy = [0.0] * workers
    for seconds in (speed.largest_step, *[speed.network_step] * (networks - 1)):
        heapreplace(busy, busy[0] + seconds)
    return max(busy)


def _fitted(
    left: float, pace: Mapping[str, float], least: Mapping[str, int], most: Mapping[str, int]
) -> dict[str, int]:
    """Steps of each part by its share of the time, none below its least or above its most; others share the rest."""
    steps = {k: most[k] for k in pace if not pace[k]}
    open_ = {k for k in pace if pace[k]}
    while open_:
        share = left / sum(SHARES[k] for k in open_)
        wanted = {k: int(share * SHARES[k] / pace[k]) for k in open_}
        # those that need more than their share come first: what others could spare is needed there
        outside = {k: least[k] for k in open_ if wanted[k] < least[k]} or {
            k: most[k] for k in open_ if wanted[k] > most[k]
        }
        settled = outside or wanted
        steps |= settled
        left -= sum(n * pace[k] for k, n in settled.items())
        open_ -= settled.keys()
    return steps


def _generations(evaluations: int) -> tuple[int, int]:
    """Population and generations of a search of at most so many evaluations, in the proportions of the default."""
    wanted = min(sqrt(evaluations * POPULATION / (FIRST + GENERATIONS)), evaluations / (FIRST + 1))
    near = range(max(1, ceil(0.7 * wanted)), max(1, min(POPULATION, int(1.2 * wanted))) + 1)
    population = max(near, key=lambda p: (evaluations // p * p, p), default=1)
    return population, max(0, evaluations // population - FIRST)


def paced(recipe: Recipe, schedule: Schedule, steps: int) -> Recipe:
    """The recipe in so many steps, its warm-up and decays in proportion; `schedule` is its own."""
    factor = steps / schedule.steps

    def text(duration: float) -> str:
        return f"{max(1, round(duration * factor))} steps" if duration else "0 steps"

    return dataclasses.replace(
        recipe,
        length=f"{steps} steps",
        warmup=text(schedule.warmup),
        decay_every=text(schedule.decay_every) if recipe.decay_every else "",
        decay_at=tuple(text(at) for at in schedule.decay_at),
    )


# --- measuring --------------------------------------------------------------------------------------------------------


def measure(
    supernet: Supernet,
    dataset: Dataset,
    recipe: Recipe,
    retrain: Recipe,
    evaluate: Evaluator,
    archs: Sequence[Arch],
    *,
    largest: Arch | None = None,
    threads: int = 1,
    workers: int = 1,
    seconds: float = 2.0,
) -> Speed:
    """Time each kind of work for about so many seconds; the supernet and torch's generator stay as they are.

    `archs` are drawn from the budget: their median in MACs is the typical network, the dearest the largest one unless
    `largest` is said. Networks are timed with all workers at work at once: processors share caches and even cores.
    """
    import copy

    import torch

    from ..datasets.augment import parse
    from ..datasets.batches import Batches
    from ..parallel.workers import map_in_workers
    from ..training.loop import fit

    space, before, first = supernet.space, torch.get_num_threads(), perf_counter()
    with torch.random.fork_rng(devices=[]):
        try:
            torch.set_num_threads(threads)
            augment = parse(recipe.augment) if recipe.augment else None
            batches = Batches(dataset, "train", recipe.batch_size, 0, augment)
            step = _per_step(fit(copy.deepcopy(supernet), batches, recipe.sampler, _endless(recipe)), seconds)
            evaluation = _per_evaluation(evaluate, archs, seconds)
        finally:
            torch.set_num_threads(before)
        order = np.argsort(costs_of(space, np.array(archs, dtype=np.int8)), kind="stable")
        typical = archs[int(order[len(order) // 2])]
        pair = tuple(space.blueprint(a) for a in (typical, largest or archs[int(order[-1])]))
        begin = perf_counter()
        found = map_in_workers(_networks, [(pair, retrain, seconds / 2)] * workers, workers)
        start = perf_counter() - begin - max(spent for _, spent in found)
    paces = np.mean([pace for pace, _ in found], axis=0)
    return Speed(step, evaluation, float(paces[0]), float(paces[1]), max(0.0, start), perf_counter() - first)


def _endless(recipe: Recipe) -> Recipe:
    """The same work without end, and without learning: what is timed must not diverge."""
    return dataclasses.replace(recipe, length="1_000_000 steps", warmup="0 steps", lr=1e-9, lr_end=0.0)


def _per_step(steps: Any, seconds: float) -> float:
    """Mean seconds of a training's steps."""
    for _ in islice(steps, WARM):
        pass
    begin, done = perf_counter(), 0
    for _ in steps:
        done += 1
        if perf_counter() - begin >= seconds:
            break
    return (perf_counter() - begin) / done


def _per_evaluation(evaluate: Evaluator, archs: Sequence[Arch], seconds: float) -> float:
    """Of two architectures, or of all together if that takes no longer than `seconds`."""
    evaluate(archs[:1])
    begin = perf_counter()
    evaluate(archs[:2])
    single = (perf_counter() - begin) / 2
    if single * len(archs) > 2 * seconds:
        return single
    begin = perf_counter()
    evaluate(archs)
    return (perf_counter() - begin) / len(archs)


def _networks(item: tuple[Sequence[Blueprint], Recipe, float], report: Any) -> tuple[list[float], float]:
    """Seconds per step of each network on images that are noise, and the seconds that measuring took."""
    from ..networks.training import one_thread, training
    from ..nn.network import build

    blueprints, recipe, seconds = item
    begin = perf_counter()
    paces = []
    with one_thread():
        for blueprint in blueprints:
            noise = _noise(blueprint, 2 * recipe.batch_size)
            steps = training(build(blueprint, seed=0), blueprint.resolution, noise, _endless(recipe), 0)
            paces.append(_per_step(steps, seconds))
            report(len(paces), len(blueprints))
    return paces, perf_counter() - begin


def _noise(blueprint: Blueprint, n: int) -> Dataset:
    """Images for a network that nobody looks at: workers need not load the data."""
    from ..datasets.dataset import SPLITS, Dataset

    rng = np.random.default_rng(0)
    return Dataset(
        name="noise",
        images=rng.integers(
            0, 256, (n, blueprint.resolution, blueprint.resolution, blueprint.in_channels), dtype=np.uint8
        ),
        labels=rng.integers(0, blueprint.classes, n),
        classes=tuple(str(c) for c in range(blueprint.classes)),
        splits={split: np.arange(n if split == "train" else 0) for split in SPLITS},
        rows=np.arange(n),
        source="noise",
    )
