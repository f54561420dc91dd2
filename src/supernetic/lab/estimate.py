"""How long a study may take, from about a second of this machine's time: no image is decoded, no supernet is built.

A few networks of the first variant that is left are timed, forwards and backwards. The rest follows from MACs and
numbers: steps, paths and images of each training, networks and images of each scoring. Networks that begin alike are
scored together; how much that saves is seen from neighbours among the networks that will be scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from .. import catalog
from ..costs.macs import add_up
from ..datasets.loading import read
from ..datasets.source import Source
from ..hardware import recorded_hardware
from ..jobs.train.fit_space import given_settings, stabilised
from ..samplers.attentive import Attentive
from ..samplers.sandwich import Sandwich
from ..samplers.step import Draw, Sampler
from ..space import Arch, Space
from .measures.measure import Measure, Scoring, plain_space
from .trainings import Training

TIMED_NETWORKS, COUNTED_NETWORKS, NEIGHBOURS = 2, 8, 16
TIMED_MACS = 1e9  # of one pass that is timed: a fraction of a second
VALID_SHARE, CALIBRATE_SHARE = 0.1, 0.05  # of the training images, where the study does not say


@dataclass(frozen=True)
class Speed:
    """Seconds for a million MACs of one image, forwards alone and with the way back."""

    forward: float
    both: float


def estimate_seconds(
    trainings: Sequence[tuple[Training, Space]], scorings: Sequence[tuple[Training, Space]], measure: Measure
) -> tuple[float, float]:
    """The time that a study may take with one worker.

    Args:
        trainings: What is left to train, each with the space of its variant.
        scorings: What is left to score, the same.
        measure: The measure of the study.

    Returns:
        Seconds of training, and of scoring.
    """
    if not scorings:
        return 0.0, 0.0
    scorings = [(t, _fitted(space, t)) for t, space in scorings]
    speed = _speed(*scorings[0])
    trained = sum(_training_macs(t) for t, _ in trainings) / 1e6 * speed.both
    scored_macs: dict[Space, float] = {}  # seeds of one variant have the same
    for t, space in scorings:
        if space not in scored_macs:
            scored_macs[space] = _scoring_macs(measure, space, t)
    scored = sum(scored_macs[space] for _, space in scorings) / 1e6 * speed.forward
    return trained, scored


def _speed(training: Training, space: Space) -> Speed:
    """Timed with random networks of a variant, on the device that it is trained on."""
    import torch

    from ..nn.network import build
    from ..nn.strided import in_layout, layout_of

    torch.set_num_threads(1)
    device = recorded_hardware(training.arguments).device
    batch_size = int(training.arguments["recipe"]["batch_size"])
    macs, forward, both = 0.0, 0.0, 0.0
    for arch in _random(space, TIMED_NETWORKS):
        blueprint = space.blueprint(arch)
        size = _macs(blueprint.layers)
        images = max(2, min(batch_size, round(TIMED_MACS / max(1, size))))
        network = build(blueprint, seed=0).to(device)
        layout = layout_of(network)
        network.to(memory_format=layout)  # type: ignore[call-overload]
        shape = (images, blueprint.in_channels, blueprint.resolution, blueprint.resolution)
        x = in_layout(torch.randn(shape, device=device), layout)
        network(x).sum().backward()  # once before it counts
        began = perf_counter()
        total = network(x).float().sum()
        total.item()  # waits for a GPU
        middle = perf_counter()
        total.backward()
        float(next(p.grad for p in network.parameters() if p.grad is not None).sum())
        macs += size * images / 1e6
        forward += middle - began
        both += perf_counter() - began
    return Speed(forward / macs, both / macs)


def _training_macs(training: Training) -> float:
    """MACs of all forward passes of a training."""
    from ..training.recipe import recipe
    from ..training.schedule import plan_of

    a = training.arguments
    settled = recipe(a["recipe"])
    assert settled.sampler is not None
    space = _fitted(stabilised(catalog.space(a["space"]), a.get("stabiliser", "")), training)
    paths, fresh = _paths(settled.sampler, plain_space(space))
    images = _training_images(a["data"], a.get("limit"), a.get("valid"), a.get("calibrate"))
    epoch = max(1, images // settled.batch_size)
    steps = plan_of(settled, epoch, paths if fresh else 1).steps
    return steps * paths * settled.batch_size * _mean_macs(space)


def _paths(sampler: Sampler, space: Space) -> tuple[int, bool]:
    """Paths of a step, and whether each has a batch of its own; no proposal distribution is fitted for it."""
    if isinstance(sampler, Sandwich):
        return sampler.n + 2, False
    if isinstance(sampler, Attentive):
        return 1, False
    step = sampler(space, Draw(np.random.default_rng(0)))
    return len(step.paths), step.fresh_batch


def _scoring_macs(measure: Measure, space: Space, training: Training) -> float:
    """MACs of all forward passes that the measure needs."""
    a = training.arguments
    valid = round(_training_images(a["data"], a.get("limit"), 0, 0) * VALID_SHARE)
    if a.get("valid"):
        valid = round(a["valid"] if a["valid"] >= 1 else valid * a["valid"] / VALID_SHARE)
    total = 0.0
    for scoring in measure.scorings(space):
        images = scoring.how["valid"] or valid
        images += scoring.how["images"] if scoring.how["bn"] == "recalibrate" else 0
        fitted = scoring._replace(space=_fitted(scoring.space, training))
        total += len(scoring.archs) * images * _mean_macs(fitted.space) * _own_share(fitted)
    return total


def _own_share(scoring: Scoring) -> float:
    """The share of their MACs in which networks differ from the one before, in the order that they are scored in."""
    ordered = sorted(scoring.archs)
    middle = len(ordered) // 2
    layers = sorted(scoring.space.blueprint(a).layers for a in ordered[middle : middle + NEIGHBOURS])
    own = total = 0
    for before, now in pairwise(layers):
        alike = next((i for i, (p, q) in enumerate(zip(before, now, strict=False)) if p != q), len(before))
        own += _macs(now[alike:])
        total += _macs(now)
    return own / total if total else 1.0


def _fitted(space: Space, training: Training) -> Space:
    """The space for images as large as the data's, where its text leaves that open."""
    a: Any = training.arguments
    size = a.get("image_size") or _source(a["data"]).resolution
    open_size = "resolution" not in given_settings(a["space"]) and isinstance(getattr(space, "resolution", None), int)
    if not size or not open_size:
        return space
    changed: Any = space
    fitted: Space = replace(changed, resolution=size)
    return fitted


@lru_cache(maxsize=8)
def _source(data: str) -> Source:
    return read(data)


@lru_cache(maxsize=64)
def _mean_macs(space: Space) -> float:
    return float(np.mean([_macs(space.blueprint(a).layers) for a in _random(space, COUNTED_NETWORKS)]))


def _macs(layers: Sequence[Any]) -> int:
    return add_up(layers)[0]


def _random(space: Space, n: int) -> list[Arch]:
    return [tuple(a) for a in space.sample(np.random.default_rng(0), n).tolist()]


@lru_cache(maxsize=16)
def _training_images(data: str, limit: int | None, valid: float | None, calibrate: float | None) -> int:
    """About how many images are left to train on, by the labels alone."""
    given = _source(data).given
    every = sum(map(len, given.values()))
    images = len(given["train"]) * min(1.0, (limit or every) / every)
    for name, share, usual in (("valid", valid, VALID_SHARE), ("calibrate", calibrate, CALIBRATE_SHARE)):
        if name not in given:
            share = usual if share is None else share
            images -= share if share >= 1 else share * len(given["train"]) * min(1.0, (limit or every) / every)
    return max(1, round(images))
