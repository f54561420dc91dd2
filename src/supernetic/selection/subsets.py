"""The ladder: nested random subsets of the data, nine tenths to train on and one tenth to calibrate with.

Paper: "Small Data, Big Decisions" (000), section 1; sizes, nesting and the number of seeds are ours.

A seed puts all available images in one order; a rung of n images is its first n, and every tenth place of the order
belongs to calibration. So rungs are nested in both parts, and no image is ever in two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from ..datasets.dataset import SPLITS, Dataset, Indices, Labels
from ..errors import InputError, UnknownNameError

ON = {
    "test": ("train", "valid", "calibrate"),
    "valid": ("train", "calibrate"),
}  # scored: learned from
TENTH = 10  # every so many places, one calibrates
SMALLEST = 2 * TENTH  # images of a rung
PER_CLASS = 25  # images of the first rung of an automatic ladder
AUTO = "auto"


@dataclass(frozen=True)
class SubsetSchedule:
    """How many images, ascending, and how many seeds at each; scores are taken on the split `on`."""

    sizes: tuple[int, ...]
    seeds: tuple[int, ...]
    on: str = "test"
    stratified: bool = False

    def __post_init__(self) -> None:
        if self.on not in ON:
            raise UnknownNameError("split to score on", self.on, ON)
        if not self.sizes or list(self.sizes) != sorted(set(self.sizes)) or self.sizes[0] < SMALLEST:
            raise InputError(f"sizes must ascend from {SMALLEST} images or more, got {self.sizes}")
        if len(self.seeds) != len(self.sizes) or min(self.seeds) < 1:
            raise InputError(f"every size needs a seed or more, got {self.seeds} for {self.sizes}")

    @property
    def middle(self) -> int:
        """The size at which learning rates are chosen; of two the larger, as a tenth of a small one says little."""
        return self.sizes[len(self.sizes) // 2]

    def subset_trainings(self) -> list[tuple[int, int]]:
        """All (size, seed), the large ones first, which keeps workers busy to the end."""
        return [(n, s) for n, k in zip(self.sizes[::-1], self.seeds[::-1], strict=True) for s in range(k)]


def make_schedule(
    sizes: str, seeds: int, dataset: Dataset, on: str = "test", *, stratified: bool = False
) -> SubsetSchedule:
    """A ladder from text: `auto` or `250,500,1000`; the smaller half of its rungs gets twice the seeds."""
    if on not in ON:
        raise UnknownNameError("split to score on", on, ON)
    available = len(available_rows(dataset, on))
    if not len(dataset.splits[on]):
        raise InputError(f"the split {on} of {dataset.name} is empty: there is nothing to score on")
    if seeds < 1:
        raise InputError(f"there must be a seed, got seeds={seeds}")
    chosen = auto_sizes(available, len(dataset.classes)) if sizes == AUTO else parse_sizes(sizes)
    if chosen[-1] > available:
        raise InputError(f"{dataset.name} has {available} images to learn from, got a size of {chosen[-1]}")
    small = len(chosen) // 2
    return SubsetSchedule(chosen, (2 * seeds,) * small + (seeds,) * (len(chosen) - small), on, stratified)


def auto_sizes(available: int, classes: int) -> tuple[int, ...]:
    """Doubling from 25 images per class to all there are."""
    sizes, n = [], max(SMALLEST, PER_CLASS * classes)
    while n <= available / sqrt(2):
        sizes.append(n)
        n *= 2
    return (*sizes, available)


def parse_sizes(text: str) -> tuple[int, ...]:
    """Numbers of images from text, ascending."""
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise InputError(f"sizes are {AUTO} or numbers of images such as 250,500,1000, got {text!r}") from None


def available_rows(dataset: Dataset, on: str) -> Indices:
    """All images that may be learned from when scores are taken on a split; test images never may."""
    return np.sort(np.concatenate([dataset.splits[s] for s in ON[on]]))


def order(rows: Indices, labels: Labels, seed: int, *, stratified: bool = False) -> Indices:
    """The seed's order of the available images; stratified, every stretch of it has all classes in proportion."""
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
    """(training, calibration) rows of the rung of n images."""
    calibrates = np.arange(n) % TENTH == TENTH - 1
    return ordered[:n][~calibrates], ordered[:n][calibrates]


def take_subset(dataset: Dataset, size: int, seed: int, on: str = "test", *, stratified: bool = False) -> Dataset:
    """The data of a rung and the split it is scored on, and nothing else: what is not in it cannot leak."""
    train, calibrate = parts(order(available_rows(dataset, on), dataset.labels, seed, stratified=stratified), size)
    chosen = {"train": train, "calibrate": calibrate, on: dataset.splits[on]}
    together = np.concatenate([*chosen.values()])
    rows = np.unique(together)
    assert len(rows) == len(together), "an image is in two parts of a rung"
    none = rows[:0]
    splits = {name: np.searchsorted(rows, np.sort(chosen.get(name, none))) for name in SPLITS}
    files = tuple(dataset.files[r] for r in rows) if dataset.files else ()
    return replace(
        dataset, images=dataset.images[rows], labels=dataset.labels[rows], rows=dataset.rows[rows], splits=splits,
        files=files,
    )  # fmt: skip
