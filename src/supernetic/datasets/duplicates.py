"""The same image twice: a test image that was trained on makes every number look better than it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations

import numpy as np

from .dataset import SPLITS, Dataset, Images, stored_images
from .decoded import DIGEST_BYTES, Digests
from .survey import digests_of


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
    stored = stored_images(dataset.images)
    digests = _digests(dataset.images) if stored is None else digests_of(stored)
    split_of = np.empty(len(digests), dtype=object)
    for name in SPLITS:
        split_of[dataset.splits[name]] = name
    between: Counter[str] = Counter()
    within: Counter[str] = Counter()
    conflicting = 0
    example: tuple[str, ...] = ()
    for rows in equal_rows(digests):
        conflicting += len({int(dataset.labels[r]) for r in rows}) > 1
        counts = Counter(split_of[r] for r in rows)
        within.update({name: n - 1 for name, n in counts.items() if n > 1})
        between.update("/".join(pair) for pair in combinations([n for n in SPLITS if n in counts], 2))
        if len(counts) > 1 and not example:
            other = next(r for r in rows if split_of[r] != split_of[rows[0]])
            example = tuple(f"{split_of[r]} {_name(dataset, r)}" for r in (rows[0], other))
    return Duplicates(dict(between), dict(within), conflicting, example)


def equal_rows(digests: Digests) -> list[list[int]]:
    """Groups of rows with equal digests, of two or more rows each, in the order of their first rows.

    Args:
        digests: N x 16 bytes.

    Returns:
        The groups, rows ascending.
    """
    numbers = np.ascontiguousarray(digests).view(np.uint64)  # N x 2: sorted as numbers, far below the size of a dict
    order = np.lexsort((numbers[:, 1], numbers[:, 0]))  # stable, so rows ascend within a group
    repeats = np.concatenate([[False], (numbers[order][1:] == numbers[order][:-1]).all(axis=1), [False]])
    firsts = np.flatnonzero(~repeats[:-1] & repeats[1:])  # the place before the first repetition of each group
    ends = np.flatnonzero(repeats[:-1] & ~repeats[1:]) + 1
    return sorted(order[a:b].tolist() for a, b in zip(firsts, ends, strict=True))


def _digests(images: Images) -> Digests:
    hashes = b"".join(blake2b(image.data, digest_size=DIGEST_BYTES).digest() for image in images)
    return np.frombuffer(hashes, dtype=np.uint8).reshape(-1, DIGEST_BYTES)


def _name(dataset: Dataset, row: int) -> str:
    return dataset.files[row] if dataset.files else f"image {dataset.rows[row]}"
