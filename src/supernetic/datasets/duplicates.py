"""The same image twice: a test image that was trained on makes every number look better than it is."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations

from .dataset import SPLITS, Dataset


@dataclass(frozen=True)
class Duplicates:
    """Images with equal pixels, counted as distinct pictures."""

    between: dict[str, int]  # pictures that two splits share, by "train/test" and so on
    within: dict[str, int]  # superfluous copies inside a split
    conflicting: int  # pictures that carry different labels
    example: tuple[str, ...] = ()  # two images of different splits, by file or row


def find_duplicates(dataset: Dataset) -> Duplicates:
    """Compare all images by a hash of their pixels.

    Args:
        dataset: any data set.

    Returns:
        Counts of equal pictures, between and within splits.
    """
    copies: defaultdict[bytes, list[int]] = defaultdict(list)
    for row, image in enumerate(dataset.images):
        copies[blake2b(image.data, digest_size=16).digest()].append(row)
    split_of = {int(row): name for name in SPLITS for row in dataset.splits[name]}
    between: Counter[str] = Counter()
    within: Counter[str] = Counter()
    conflicting = 0
    example: tuple[str, ...] = ()
    for rows in copies.values():
        if len(rows) == 1:
            continue
        conflicting += len({int(dataset.labels[r]) for r in rows}) > 1
        counts = Counter(split_of[r] for r in rows)
        within.update({name: n - 1 for name, n in counts.items() if n > 1})
        between.update("/".join(pair) for pair in combinations([n for n in SPLITS if n in counts], 2))
        if len(counts) > 1 and not example:
            other = next(r for r in rows if split_of[r] != split_of[rows[0]])
            example = tuple(f"{split_of[r]} {_name(dataset, r)}" for r in (rows[0], other))
    return Duplicates(dict(between), dict(within), conflicting, example)


def _name(dataset: Dataset, row: int) -> str:
    return dataset.files[row] if dataset.files else f"image {dataset.rows[row]}"
