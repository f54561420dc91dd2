"""Stratified splits and subsets: every class keeps its share, and the draw depends on the seed alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import DataError, InputError
from .dataset import SPLITS, Indices, Labels

# The order in which a class with few images serves the splits, after its first image for training.
CUTTING_ORDER = ("valid", "test", "calibrate")


def check_classes(what: str, names: Sequence[str]) -> None:
    """Refuse a data set of fewer than two classes.

    Args:
        what: the data set, for the message.
        names: its classes.
    """
    if len(names) < 2:
        raise DataError(f"{what}: a task needs two classes or more, got {', '.join(names) or 'none'}")


def check_training_images(what: str, labels: Labels, names: Sequence[str]) -> None:
    """Refuse a data set in which a class has no image to train on.

    Args:
        what: the data set, for the message.
        labels: of the training images.
        names: the classes.
    """
    if len(labels) < len(names):
        raise DataError(f"{what}: {len(names)} classes need as many training images or more, got {len(labels)}")
    empty = np.flatnonzero(np.bincount(labels, minlength=len(names)) == 0)
    if len(empty):
        raise DataError(f"{what}: the class {names[empty[0]]!r} has no training image")


def split(labels: Labels, given: Mapping[str, Indices], shares: Mapping[str, float], seed: int) -> dict[str, Indices]:
    """The four splits: those given, and the missing ones cut from `train`.

    Args:
        labels: of all images.
        given: rows by split, `train` at least.
        shares: of the splits that are cut; from 1 on, numbers of images.
        seed: of the draws.

    Returns:
        Rows by split, ascending.
    """
    pool = given["train"]
    missing = {name: shares[name] for name in CUTTING_ORDER if name not in given}
    cut_shares = {name: share if share < 1 else share / len(pool) for name, share in missing.items()}
    for name, share in shares.items():
        if not share >= 0 or not share < np.inf:
            raise InputError(f"the share of {name} images must be 0 or more, got {share}")
    if sum(cut_shares.values()) >= 1:
        listed = ", ".join(f"{name} {share:g}" for name, share in missing.items())
        raise InputError(f"{listed} leave none of {len(pool)} images to train on")
    parts: dict[str, list[Indices]] = {name: [] for name in ("train", *cut_shares)}
    for label, rows in _strata(labels[pool]):
        left = _shuffled(pool[rows], seed, label)
        for name, n in _portions(len(left), cut_shares).items():
            parts[name].append(left[:n])
            left = left[n:]
        parts["train"].append(left)
    cut = {name: np.sort(np.concatenate(rows)) for name, rows in parts.items()}
    return {name: cut.get(name, np.sort(given[name]) if name in given else pool[:0]) for name in SPLITS}


def subset(labels: Labels, given: Mapping[str, Indices], limit: int, seed: int) -> dict[str, Indices]:
    """A subset of at most `limit` images, shared out over parts and classes in proportion.

    A larger limit with the same seed keeps the images of a smaller one, but for rounding.

    Args:
        labels: of all images.
        given: rows by split.
        limit: how many images.
        seed: of the draws.

    Returns:
        Rows by split, ascending.
    """
    total = sum(map(len, given.values()))
    strata = [(name, label, rows[at]) for name, rows in given.items() for label, at in _strata(labels[rows])]
    if limit >= total:
        return dict(given)
    if limit < len(strata):
        raise InputError(f"a limit of {limit} images is below {len(strata)}, one of each class and split")
    exact = np.array([limit * len(rows) / total for _, _, rows in strata])
    sizes = np.maximum(1, np.floor(exact).astype(int))
    while sizes.sum() < limit:
        sizes[np.argmax(exact - sizes)] += 1
    while sizes.sum() > limit:  # when small classes were rounded up to one image
        sizes[np.argmax(np.where(sizes > 1, sizes - exact, -np.inf))] -= 1
    kept: dict[str, list[Indices]] = {name: [] for name in given}
    for (name, label, rows), size in zip(strata, sizes, strict=True):
        kept[name].append(_shuffled(rows, seed, label)[:size])
    return {name: np.sort(np.concatenate(rows)) if rows else given[name] for name, rows in kept.items()}


def _strata(labels: Labels) -> list[tuple[int, Indices]]:
    return [(int(label), np.flatnonzero(labels == label)) for label in np.unique(labels)]


def _shuffled(rows: Indices, seed: int, label: int) -> Indices:
    return np.random.default_rng([seed, label, len(rows)]).permutation(rows)


def _portions(n: int, shares: Mapping[str, float]) -> dict[str, int]:
    """How many of a class's `n` images each split gets: its share, at least one where that leaves one to train on."""
    portions = {}
    spare = n - 1
    for name, share in shares.items():
        portions[name] = min(spare, max(1, round(share * n)) if share else 0)
        spare -= portions[name]
    return portions
