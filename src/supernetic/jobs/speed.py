"""How fast this machine is at each kind of work, from a few seconds of measuring."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..costs import costs_of
from ..space import Arch

if TYPE_CHECKING:
    from ..blueprint import Blueprint
    from ..datasets import Dataset
    from ..evaluators import Evaluator
    from ..supernets.supernet import Supernet
    from ..training.recipe import Recipe

WARM_UP_STEPS = 2  # that are not timed: memory is allocated, kernels are chosen


@dataclass(frozen=True)
class Speed:
    """Seconds that were measured, each under the conditions of its step."""

    supernet_step: float
    evaluation: float  # of an architecture among others, with which it shares beginnings
    network_step: float  # of a typical network while all workers are at work
    largest_step: float  # of the largest
    start: float = 0.0  # until a worker is at work
    measuring: float = 0.0  # that all this took


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
    """Time each kind of work; the supernet and torch's generator stay as they are.

    Networks are timed with all workers at work at once: processors share caches and even cores.

    Args:
        supernet: The supernet.
        dataset: The images.
        recipe: Of the supernet's training.
        retrain: Of a finished network's training.
        evaluate: Scores architectures.
        archs: Drawn from the budget; their median in MACs is the typical network.
        largest: The largest network; by default the one of `archs` with the most MACs.
        threads: Of the supernet's training.
        workers: Trainings at a time.
        seconds: About how long each kind of work is timed.

    Returns:
        Seconds of each kind of work.
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
        measured = map_in_workers(_networks, [(pair, retrain, seconds / 2)] * workers, workers)
        start = perf_counter() - begin - max(spent for _, spent in measured)
    paces = np.mean([pace for pace, _ in measured], axis=0)
    return Speed(step, evaluation, float(paces[0]), float(paces[1]), max(0.0, start), perf_counter() - first)


def _endless(recipe: Recipe) -> Recipe:
    """The same work without end, and without learning: what is timed must not diverge."""
    return dataclasses.replace(recipe, length="1_000_000 steps", warmup="0 steps", lr=1e-9, lr_end=0.0)


def _per_step(steps: Any, seconds: float) -> float:
    """Mean seconds of a training's steps."""
    for _ in islice(steps, WARM_UP_STEPS):
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
