"""How fast this machine is, from a look of about a second: what a dry run tells must not cost what a run does.

A run measures with whole batches, with all workers at work, for seconds each (`speed`). Here one process takes a few
small batches and draws a line through their times: a constant for every step, and a part that grows with the images.
That is what makes a dry run quick, and its times rough: those of a machine that has nothing else to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle
from time import perf_counter, process_time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..costs import costs_of
from ..hardware import CPU, Hardware
from ..space import Arch, Space
from .speed import Speed, noise_for

if TYPE_CHECKING:
    from ..blueprint import Blueprint
    from ..datasets import Dataset
    from ..evaluators import Evaluator
    from ..supernets.supernet import Supernet
    from ..training.recipe import Recipe

FEW, MORE = 4, 16  # images of the batches that are timed
BESIDE_OTHERS = 1.15  # networks beside one another are slower than one alone
WORKER_START_S = 5.0  # in which a worker loads torch


class Part(NamedTuple):
    """A part of the scores of an architecture.

    Args:
        evaluate: Asked about one architecture at a time.
        times: By how much longer it takes in a run, where more images are looked at.
    """

    evaluate: Evaluator
    times: float = 1.0


def glance(
    space: Space,
    supernet: Supernet | None,
    dataset: Dataset,
    recipe: Recipe,
    retrain: Recipe,
    parts: Sequence[Part],
    archs: Sequence[Arch],
    *,
    largest: Arch | None = None,
    hardware: Hardware = CPU,
    workers: int = 1,
    measuring: float = 0.0,
) -> Speed:
    """Look at each kind of work; arguments as for `speed.measure`.

    Args:
        space: Of the networks.
        supernet: The supernet; None if none is trained.
        dataset: The images.
        recipe: Of the supernet's training.
        retrain: Of a finished network's training.
        parts: What scores architectures.
        archs: Drawn from the budget; their median in MACs is the typical network.
        largest: The largest network; by default the one of `archs` with the most MACs.
        hardware: Of the supernet's training.
        workers: Trainings at a time.
        measuring: Seconds that a run will take to measure all this.

    Returns:
        Seconds of each kind of work, roughly.
    """
    import torch

    from ..networks.training import one_thread

    before, asked = torch.get_num_threads(), ([arch] for arch in cycle(archs))
    with torch.random.fork_rng(devices=[]):
        try:
            torch.set_num_threads(hardware.threads)
            step = 0.0 if supernet is None else _supernet_step(supernet, dataset, recipe)
            evaluation = sum(part.times * _per_call(partial(_ask, part.evaluate, asked)) for part in parts)
        finally:
            torch.set_num_threads(before)
        order = np.argsort(costs_of(space, np.array(archs, dtype=np.int8)), kind="stable")
        typical = space.blueprint(archs[int(order[len(order) // 2])])
        most = space.blueprint(largest or archs[int(order[-1])])
        with one_thread():
            slower = BESIDE_OTHERS if workers > 1 else 1.0
            paces = [slower * _network_step(b, retrain) for b in (typical, most)]
            test = len(dataset.splits["test"]) * slower * _seconds_per_image(typical)
    start = WORKER_START_S if workers > 1 else 0.0
    return Speed(step, evaluation, paces[0], paces[1], start, test, start + measuring)


def _ask(evaluate: Evaluator, asked: Iterator[list[Arch]]) -> None:
    evaluate(next(asked))


def _line(seconds: Callable[[int], float], images: int) -> float:
    """Seconds with so many images, from what few take and what some more take."""
    if images <= MORE:
        return seconds(images)
    few, more = seconds(FEW), seconds(MORE)
    return more + max(0.0, more - few) / (MORE - FEW) * (images - MORE)


def pass_seconds(blueprint: Blueprint, images: int, seconds: float = 0.0) -> float:
    """Time a forward and a backward pass of a network: a training step without its update.

    torch's optimisers import its compiler, which takes two seconds; what they do themselves takes next to none.

    Args:
        blueprint: The network.
        images: Of the batch.
        seconds: About for how long it is timed; once, by default.

    Returns:
        The mean seconds of both passes.
    """
    import torch

    from ..networks.training import one_thread
    from ..nn.network import build
    from ..nn.strided import in_layout, layout_of

    with one_thread(), torch.random.fork_rng(devices=[]):
        network = build(blueprint, seed=0)
        layout = layout_of(network)
        network.to(memory_format=layout)  # type: ignore[call-overload]
        shape = images, blueprint.in_channels, blueprint.resolution, blueprint.resolution
        x = in_layout(torch.randn(shape), layout)
        return _per_call(lambda: network(x).sum().backward(), seconds)


def _supernet_step(supernet: Supernet, dataset: Dataset, recipe: Recipe) -> float:
    import copy

    import torch

    from ..nn.strided import layout_of
    from ..samplers.step import Draw
    from ..training.step import backward, batch_score

    trained = copy.deepcopy(supernet)
    trained.to(memory_format=layout_of(trained))  # type: ignore[call-overload]
    sampler, rng = recipe.sampler, np.random.default_rng(0)
    assert sampler is not None

    def seconds(images: int) -> float:
        shape = images, dataset.channels, dataset.resolution, dataset.resolution
        batch = torch.rand(shape), torch.zeros(images, dtype=torch.int64)

        def step() -> None:
            drawn = sampler(trained.space, Draw(rng, 0, batch_score(trained, batch)))
            backward(trained, [batch] * len(drawn.paths) if drawn.fresh_batch else batch, drawn, index=0)

        return _per_call(step)

    return _line(seconds, min(recipe.batch_size, len(dataset.splits["train"])))


def _network_step(blueprint: Blueprint, recipe: Recipe) -> float:
    return _line(lambda images: pass_seconds(blueprint, images), recipe.batch_size)


def _seconds_per_image(blueprint: Blueprint) -> float:
    from ..networks.training import logits_of
    from ..nn.network import build

    network, noise = build(blueprint, seed=0).eval(), noise_for(blueprint, MORE)
    return _per_call(lambda: logits_of(network, blueprint.resolution, noise, "train")) / MORE


def _per_call(work: Callable[[], object], seconds: float = 0.0) -> float:
    """Mean seconds of a call, after one that is not timed: memory is allocated, kernels are chosen.

    With one thread it is the processor's time that counts: a look is so short that other work would spoil it.
    """
    import torch

    clock = process_time if torch.get_num_threads() == 1 else perf_counter
    work()
    begin, done = clock(), 0
    while not done or clock() - begin < seconds:
        work()
        done += 1
    return (clock() - begin) / done
