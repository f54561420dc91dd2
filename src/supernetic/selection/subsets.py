"""Subset schedules: nested random subsets of the data, nine tenths for training and one tenth for calibration.

Paper: "Small Data, Big Decisions", section 1; sizes, nesting and the number of seeds are ours.

A seed puts all available images in one order. The subset of n images is the first n of them, and every tenth image of
the order belongs to calibration. So both parts are nested, and no image is ever in the training part of one subset and
in the calibration part of another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from ..datasets.dataset import SPLITS, Dataset, Indices, Labels, stored_images
from ..errors import InputError, UnknownNameError
from ..numerals import whole_number

LEARNED_SPLITS = {  # by the split that is scored: the splits that may be learned from
    "test": ("train", "valid", "calibrate"),
    "valid": ("train", "calibrate"),
}
CALIBRATION_STRIDE = 10  # one of so many images calibrates
MIN_SUBSET_IMAGES = 2 * CALIBRATION_STRIDE
FIRST_IMAGES_PER_CLASS = 25  # of the smallest subset of an automatic schedule
AUTO = "auto"


@dataclass(frozen=True)
class SubsetSchedule:
    """How many images the subsets have, how many seeds each size gets, and which split is scored."""

    sizes: tuple[int, ...]  # images, ascending
    seeds: tuple[int, ...]  # seeds at each size
    on: str = "test"  # the split that is scored
    stratified: bool = False  # whether subsets have all classes in proportion

    def __post_init__(self) -> None:
        if self.on not in LEARNED_SPLITS:
            raise UnknownNameError("split to score on", self.on, LEARNED_SPLITS)
        if not self.sizes or list(self.sizes) != sorted(set(self.sizes)) or self.sizes[0] < MIN_SUBSET_IMAGES:
            raise InputError(f"sizes must ascend from {MIN_SUBSET_IMAGES} images or more, got {self.sizes}")
        if len(self.seeds) != len(self.sizes) or min(self.seeds) < 1:
            raise InputError(f"every size needs at least one seed, got {self.seeds} for {self.sizes}")

    @property
    def middle(self) -> int:
        """The size at which learning rates are chosen; the larger of two, as a tenth of a small subset says little."""
        return self.sizes[len(self.sizes) // 2]

    def subset_trainings(self) -> list[tuple[int, int]]:
        """All pairs (size, seed), the largest sizes first, which keeps workers busy to the end."""
        return [(n, s) for n, k in zip(self.sizes[::-1], self.seeds[::-1], strict=True) for s in range(k)]


def make_schedule(
    sizes: str, seeds: int, dataset: Dataset, on: str = "test", *, stratified: bool = False
) -> SubsetSchedule:
    """Make a schedule from text; the smaller half of its sizes gets twice the seeds.

    Args:
        sizes: `auto`, or numbers of images such as `250,500,1000`.
        seeds: Seeds of each size of the larger half.
        dataset: The data that subsets are taken from.
        on: The split that is scored: `test` or `valid`.
        stratified: Whether subsets have all classes in proportion.

    Returns:
        The schedule.
    """
    if on not in LEARNED_SPLITS:
        raise UnknownNameError("split to score on", on, LEARNED_SPLITS)
    available = len(available_rows(dataset, on))
    if not len(dataset.splits[on]):
        raise InputError(f"the split {on} of {dataset.name} is empty: there is nothing to score on")
    if seeds < 1:
        raise InputError(f"seeds must be at least 1, got {seeds}")
    chosen = auto_sizes(available, len(dataset.classes)) if sizes == AUTO else parse_sizes(sizes)
    if chosen[-1] > available:
        raise InputError(f"{dataset.name} has {available} images to learn from, got a size of {chosen[-1]}")
    small = len(chosen) // 2
    return SubsetSchedule(chosen, (2 * seeds,) * small + (seeds,) * (len(chosen) - small), on, stratified)


def auto_sizes(available: int, classes: int) -> tuple[int, ...]:
    """Sizes that double from 25 images per class up to all available images."""
    sizes, n = [], max(MIN_SUBSET_IMAGES, FIRST_IMAGES_PER_CLASS * classes)
    while n <= available / sqrt(2):
        sizes.append(n)
        n *= 2
    return (*sizes, available)


def parse_sizes(text: str) -> tuple[int, ...]:
    """Numbers of images from text such as `250,500,1000`, ascending."""
    try:
        sizes = tuple(sorted({whole_number(part) for part in text.split(",")}))
    except ValueError:
        raise InputError(f"sizes must be {AUTO} or numbers of images such as 250,500,1000, got {text!r}") from None
    if sizes[0] < MIN_SUBSET_IMAGES:
        raise InputError(f"sizes must be {MIN_SUBSET_IMAGES} images or more, got {sizes[0]}")
    return sizes


def available_rows(dataset: Dataset, on: str) -> Indices:
    """The images that may be learned from when a split is scored; test images never may."""
    return np.sort(np.concatenate([dataset.splits[s] for s in LEARNED_SPLITS[on]]))


def order(rows: Indices, labels: Labels, seed: int, *, stratified: bool = False) -> Indices:
    """The order of the available images for a seed.

    Args:
        rows: The images.
        labels: Labels of all images of the data set.
        seed: Decides the order.
        stratified: Whether every stretch of the order has all classes in proportion.

    Returns:
        The rows in that order.
    """
    rng = np.random.default_rng([seed, len(rows)])
    shuffled = rng.permutation(rows)
    if not stratified:
        return shuffled
    place = np.empty(len(rows))
    for label in np.unique(labels[rows]):
        of_class = labels[shuffled] == label
        n = int(of_class.sum())
        place[of_class] = (np.arange(n) + rng.random(n)) / n
    return shuffled[np.argsort(place, kind="stable")]


def parts(ordered: Indices, n: int) -> tuple[Indices, Indices]:
    """(training, calibration) rows of the subset of n images."""
    calibrates = np.arange(n) % CALIBRATION_STRIDE == CALIBRATION_STRIDE - 1
    return ordered[:n][~calibrates], ordered[:n][calibrates]


def take_subset(dataset: Dataset, size: int, seed: int, on: str = "test", *, stratified: bool = False) -> Dataset:
    """The data of one subset and the split it is scored on; it holds nothing else, so nothing else can leak.

    Args:
        dataset: All the data.
        size: Images of the subset, calibration included.
        seed: Decides which images these are.
        on: The split that is scored.
        stratified: Whether the subset has all classes in proportion.

    Returns:
        A data set with the splits `train`, `calibrate` and `on`; the others are empty.
    """
    train, calibrate = parts(order(available_rows(dataset, on), dataset.labels, seed, stratified=stratified), size)
    chosen = {"train": train, "calibrate": calibrate, on: dataset.splits[on]}
    all_rows = np.concatenate([*chosen.values()])
    rows = np.unique(all_rows)
    assert len(rows) == len(all_rows), "an image is in two parts of a subset"
    none = rows[:0]
    splits = {name: np.searchsorted(rows, np.sort(chosen.get(name, none))) for name in SPLITS}
    files = tuple(dataset.files[r] for r in rows) if dataset.files else ()
    stored: Any = stored_images(dataset.images)
    images = dataset.images[rows] if stored is None else stored.take(rows)
    return replace(
        dataset, images=images, labels=dataset.labels[rows], rows=dataset.rows[rows], splits=splits,
        files=files,
    )  # fmt: skip
