"""Classes of unequal size: what each counts in a loss, and epochs in which all are equally frequent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import UnknownNameError
from .dataset import Dataset, Indices, Labels

AUTO, NONE, WEIGHTS, SAMPLING = "auto", "none", "weights", "sampling"
WAYS = (AUTO, NONE, WEIGHTS, SAMPLING)  # to balance classes
CLEAR_IMBALANCE = 3.0  # times as many images in the largest class as in the smallest (docs/findings/balance.md)
MOST_WEIGHT = 10  # of an image, relative to one of the largest class
AUTO_WAY = SAMPLING  # what `auto` chooses beyond that, if classes count alike


def check_way(way: str) -> None:
    """Refuse a way to balance classes that does not exist."""
    if way not in WAYS:
        raise UnknownNameError("way to balance classes", way, WAYS)


def choose_balance(
    requested: str, dataset: Dataset, own: str = NONE, *, classes_alike: bool = False
) -> tuple[str, tuple[str, ...]]:
    """Settle how classes of unequal size are balanced in training.

    Args:
        requested: `none`, `weights`, `sampling`, or `auto`: sampling, if sizes are clearly unequal and classes count
            alike. Where images count alike, balancing would lower what counts.
        dataset: the images.
        own: what a recipe says; it comes before `auto`.
        classes_alike: whether networks are compared by a metric in which every class counts alike.

    Returns:
        `none`, `weights` or `sampling`, and a note if classes are clearly unequal and `auto` had to choose.
    """
    check_way(requested)
    if requested != AUTO:
        return requested, ()
    counts = dataset.counts("train")
    present = [(n, name) for n, name in zip(counts, dataset.classes, strict=True) if n]
    (most, largest), (least, smallest) = max(present), min(present)
    if own != NONE or most <= CLEAR_IMBALANCE * least:
        return own, ()
    unequal = f"classes are unequal: {largest!r} has {most:,} training images, {smallest!r} has {least:,}; "
    if classes_alike:
        return AUTO_WAY, (f"{unequal}images of small classes come more often (--balance none switches that off)",)
    return NONE, (f"{unequal}all images count alike (--balance {AUTO_WAY} if small classes matter as much)",)


def class_weights(labels: Labels, classes: int) -> npt.NDArray[np.float64]:
    """Weights with which every class counts alike.

    Args:
        labels: of the training images.
        classes: how many there are.

    Returns:
        A weight for each class: inversely proportional to its images, with a mean over all images of 1. An image counts
        at most ten times as much as one of the largest class: a class of a single image would drown in noise what the
        others teach. Classes without images have no weight.
    """
    counts = np.bincount(labels, minlength=classes)
    weights = np.where(counts > 0, 1 / np.maximum(counts, counts.max() / MOST_WEIGHT), 0.0)
    balanced: npt.NDArray[np.float64] = weights * len(labels) / (weights @ counts)
    return balanced


def balanced_order(rows: Indices, labels: Labels, rng: np.random.Generator) -> Indices:
    """As many rows as there are, equally many of every class that is not tiny, in random order.

    Args:
        rows: of all images.
        labels: the class of each.
        rng: the source of randomness.

    Returns:
        Rows; those of small classes come several times, each of them about equally often, and some of those of large
        classes are left out. Classes are as frequent as `class_weights` makes them.
    """
    present, counts = np.unique(labels, return_counts=True)
    quotas = np.floor(class_weights(labels, int(present[-1]) + 1)[present] * counts + 1e-9).astype(np.int64)
    quotas[rng.permutation(len(present))[: len(rows) - quotas.sum()]] += 1
    drawn = [_cycled(rows[labels == c], n, rng) for c, n in zip(present, quotas, strict=True)]
    return rng.permutation(np.concatenate(drawn))


def _cycled(rows: Indices, n: int, rng: np.random.Generator) -> Indices:
    """So many rows: all of them in random order, again and again."""
    rounds = [rng.permutation(rows) for _ in range(-(-n // len(rows)))]
    return np.concatenate(rounds)[:n] if rounds else rows[:0]
