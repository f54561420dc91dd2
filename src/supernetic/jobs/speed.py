"""How fast this machine is at each kind of work, from a few seconds of measuring."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..costs import costs_of
from ..hardware import CPU, Hardware
from ..space import Arch, Space

if TYPE_CHECKING:
    from ..blueprint import Blueprint
    from ..datasets import Dataset
    from ..evaluators import Evaluator
    from ..supernets.supernet import Supernet
    from ..training.recipe import Recipe

BLOCK_STEPS = 5  # that several processes take before they agree on whether to go on
SHORT_S = 0.5  # of measuring: below it, a look is enough
SLOW = 2  # times the seconds that something is timed for: then the first time is taken as it is
WARM_UP_STEPS = 2  # that are not timed: memory is allocated, kernels are chosen


@dataclass(frozen=True)
class Speed:
    """Seconds that were measured, each under the conditions of its step."""

    supernet_step: float  # 0 if there is no supernet
    evaluation: float  # of an architecture among others, with which it shares beginnings
    network_step: float  # of a typical network while all workers are at work
    largest_step: float  # of the largest
    start: float = 0.0  # until a worker is at work
    test: float = 0.0  # of one network on all test images
    measuring: float = 0.0  # that all this took


def measure(
    space: Space,
    supernet: Supernet | None,
    dataset: Dataset,
    recipe: Recipe,
    retrain: Recipe,
    evaluate: Evaluator,
    archs: Sequence[Arch],
    *,
    largest: Arch | None = None,
    hardware: Hardware = CPU,
    workers: int = 1,
    seconds: float = 2.0,
) -> Speed:
    """Time each kind of work; the supernet and torch's generator stay as they are.

    Networks are timed with all workers at work at once: processors share caches and even cores.

    Args:
        space: Of the networks.
        supernet: The supernet; None if none is trained.
        dataset: The images.
        recipe: Of the supernet's training.
        retrain: Of a finished network's training.
        evaluate: Scores architectures.
        archs: Drawn from the budget; their median in MACs is the typical network.
        largest: The largest network; by default the one of `archs` with the most MACs.
        hardware: Of the supernet's training; networks are trained there too, with one thread each.
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
    from ..parallel.world import world_size
    from ..training.devices import accelerator_for
    from ..training.loop import fit

    if world_size() > 1:  # this process alone measures
        hardware = hardware.with_processes(1)

    before, first, step = torch.get_num_threads(), perf_counter(), 0.0
    with torch.random.fork_rng(devices=[]):
        try:
            torch.set_num_threads(hardware.threads)
            if supernet is not None:
                augment = parse(recipe.augment) if recipe.augment else None
                together = accelerator_for(hardware)
                batches = Batches(dataset, "train", recipe.batch_size, 0, augment, hardware.device)
                steps = fit(
                    copy.deepcopy(supernet).to(hardware.device), batches, recipe.sampler, endless(recipe),
                    accelerator=together,
                )  # fmt: skip
                step = _per_step(steps, seconds)
            evaluation = _per_evaluation(evaluate, archs, seconds)
        finally:
            torch.set_num_threads(before)
        order = np.argsort(costs_of(space, np.array(archs, dtype=np.int8)), kind="stable")
        typical = archs[int(order[len(order) // 2])]
        pair = tuple(space.blueprint(a) for a in (typical, largest or archs[int(order[-1])]))
        begin = perf_counter()
        items = [(pair, retrain, seconds / 2, hardware.of_networks, True)] * workers
        measured = map_in_workers(_networks, items, workers, environments=hardware.environments())
        start = perf_counter() - begin - max(spent for *_, spent in measured)
    paces = np.mean([paces for paces, *_ in measured], axis=0)
    test = len(dataset.splits["test"]) * max(per_image for _, per_image, _ in measured)
    return Speed(step, evaluation, float(paces[0]), float(paces[1]), max(0.0, start), test, perf_counter() - first)


def step_seconds(
    blueprints: Sequence[Blueprint], recipe: Recipe, workers: int, seconds: float = 0.6, *, hardware: Hardware = CPU
) -> list[float]:
    """Time one training step of each network, with all workers at work.

    Args:
        blueprints: The networks.
        recipe: How they are trained.
        workers: Processes.
        seconds: About how long each network is timed.
        hardware: Where they are trained.

    Returns:
        Seconds per step of each network, in the order given.
    """
    from ..parallel.workers import map_in_workers

    items = [((b,), recipe, seconds, hardware, False) for b in blueprints]
    measured = map_in_workers(_networks, items, workers, environments=hardware.environments())
    return [paces[0] for paces, *_ in measured]


def together_seconds(blueprint: Blueprint, recipe: Recipe, hardware: Hardware, seconds: float = 2.0) -> float:
    """Time one training step of a network that several processes train together.

    Args:
        blueprint: The network.
        recipe: How it is trained.
        hardware: How many processes, and where.
        seconds: About how long they are timed.

    Returns:
        Seconds per step.
    """
    from ..parallel.ranks import launch_ranks

    return next(iter(launch_ranks(_together, hardware.processes, blueprint, recipe, hardware, seconds)))


def _together(blueprint: Blueprint, recipe: Recipe, hardware: Hardware, seconds: float) -> Iterator[float]:
    """What each of several processes does. They take the same number of steps, or one would wait for the others."""
    import torch

    from ..networks.training import training
    from ..nn.network import build
    from ..training.devices import accelerator_for

    together = accelerator_for(hardware, paths=False)
    assert together is not None
    noise = noise_for(blueprint, 2 * recipe.batch_size)
    steps = training(build(blueprint, seed=0), blueprint.resolution, noise, endless(recipe), 0, None, hardware)
    for _ in islice(steps, WARM_UP_STEPS):
        pass
    begin, done = perf_counter(), 0
    while True:
        done += sum(1 for _ in islice(steps, BLOCK_STEPS))
        # they stop after the same step: one that went on would wait for the others for ever
        late = torch.tensor(float(perf_counter() - begin >= seconds), device=together.device)
        if float(together.reduce(late, "sum")):
            break
    yield (perf_counter() - begin) / done


def endless(recipe: Recipe) -> Recipe:
    """The same work without end, and without learning: what is timed must not diverge."""
    return dataclasses.replace(recipe, length="1_000_000 steps", warmup="0 steps", lr=1e-9, lr_end=0.0)


def _per_step(steps: Any, seconds: float) -> float:
    """Mean seconds of a training's steps; where steps are slow, one is enough to warm up."""
    begin = perf_counter()
    for _ in islice(steps, WARM_UP_STEPS if seconds >= SHORT_S else 1):
        if perf_counter() - begin >= seconds:
            break
    begin, done = perf_counter(), 0
    for _ in steps:
        done += 1
        if perf_counter() - begin >= seconds:
            break
    return (perf_counter() - begin) / done


def _per_evaluation(evaluate: Evaluator, archs: Sequence[Arch], seconds: float) -> float:
    """Of one architecture if it is slow, of two, or of all together if that takes no longer than `seconds`."""
    begin = perf_counter()
    evaluate(archs[:1])
    first = perf_counter() - begin
    if first > SLOW * seconds:
        return first
    begin = perf_counter()
    evaluate(archs[:2])
    single = (perf_counter() - begin) / 2
    if single * len(archs) > 2 * seconds:
        return single
    begin = perf_counter()
    evaluate(archs)
    return (perf_counter() - begin) / len(archs)


def _networks(
    item: tuple[Sequence[Blueprint], Recipe, float, Hardware, bool], report: Any
) -> tuple[list[float], float, float]:
    """Of networks on images that are noise: seconds per step of each, seconds to classify an image with the first.

    The latter are 0 unless the item asks for them. The third number is the seconds that measuring took.
    """
    from ..networks.training import logits_of, one_thread, training
    from ..nn.network import build

    blueprints, recipe, seconds, hardware, classifies = item
    begin = perf_counter()
    paces: list[float] = []
    per_image = 0.0
    with one_thread():
        for blueprint in blueprints:
            noise = noise_for(blueprint, 2 * recipe.batch_size)
            network = build(blueprint, seed=0)
            steps = training(network, blueprint.resolution, noise, endless(recipe), 0, None, hardware)
            paces.append(_per_step(steps, seconds))
            report(len(paces), len(blueprints))
            if classifies and len(paces) == 1:
                network.eval()
                logits_of(network, blueprint.resolution, noise, "train")  # not timed: kernels are chosen
                classified = perf_counter()
                logits_of(network, blueprint.resolution, noise, "train")
                per_image = (perf_counter() - classified) / len(noise.images)
    return paces, per_image, perf_counter() - begin


def noise_for(blueprint: Blueprint, n: int) -> Dataset:
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
