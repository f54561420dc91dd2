"""A network's validation curve: metrics of a fixed part of the validation images, now and then while it is trained.

When, and on how many images, follows from the length of the training alone, so that a resumed training records the same
curve. The cost is bounded: forward passes on validation images take at most about 2 % of a training's time.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from ..datasets.batches import Batches
from ..datasets.dataset import Indices
from ..training.loop import Validate
from .scores import scores

SPLIT = "valid"
METRICS = ("valid/accuracy", "valid/cross_entropy")
IMAGES = "valid/images"  # in a record: how many were validated
COST_SHARE = 0.02  # of the training
FORWARD_SHARE = 1 / 3  # of what a training step costs, per image
MOST_POINTS, FEW_POINTS = 20, 10  # of a training's curve; points for whose sake fewer images are taken
MOST_IMAGES, FEWEST_IMAGES = 2000, 100
BATCH_IMAGES = 256  # validated at a time


def validation(batches: Batches, steps: int) -> tuple[frozenset[int], Validate] | None:
    """When and how a network is validated while it is trained.

    Args:
        batches: The training images, whose data set has the validation images.
        steps: Of the training.

    Returns:
        The steps, and a function from a network in evaluation mode to metrics; None if a training is too short, or
        there are no validation images.
    """
    rows = batches.dataset.splits[SPLIT]
    points, images = _sizes(steps * batches.batch_size // batches.world, len(rows))
    points = min(points, steps - 1)  # the end of a training is validated anyway, on all images
    if points < 1:
        return None
    at = frozenset(round(i * steps / (points + 1)) for i in range(1, points + 1))
    chosen = rows[np.linspace(0, len(rows) - 1, images).round().astype(np.int64)]  # data are often sorted by class

    def validate(network: nn.Module) -> Mapping[str, float]:
        return _metrics(network, batches, chosen)

    return at - {0, steps}, validate


def _sizes(trained: int, available: int) -> tuple[int, int]:
    """Points of a curve and images at each of them, given how many images go through the training in all."""
    affordable = int(COST_SHARE / FORWARD_SHARE * trained)
    images = min(available, MOST_IMAGES, max(FEWEST_IMAGES, affordable // FEW_POINTS))
    return (min(MOST_POINTS, affordable // images), images) if images else (0, 0)


@torch.no_grad()
def _metrics(network: nn.Module, batches: Batches, rows: Indices) -> Mapping[str, float]:
    parts = [rows[i : i + BATCH_IMAGES] for i in range(0, len(rows), BATCH_IMAGES)]
    logits = torch.cat([network(batches.at(part)[0]).float() for part in parts]).cpu().numpy()
    found = scores(METRICS, {SPLIT: logits}, {SPLIT: batches.dataset.labels[rows]})
    return {**found, IMAGES: len(rows)}
