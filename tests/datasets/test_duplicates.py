from __future__ import annotations

import dataclasses

import numpy as np

from supernetic.datasets import Dataset, load
from supernetic.datasets.duplicates import Duplicates, find_duplicates


def test_none_in_the_embedded_data_as_brute_force_agrees() -> None:
    data = load("embedded", limit=600)
    flat = data.images.reshape(len(data.images), -1)
    assert len(np.unique(flat, axis=0)) == len(flat)
    assert find_duplicates(data) == Duplicates({}, {}, 0)


def test_copies_between_and_within_splits(embedded: Dataset) -> None:
    images, labels = embedded.images.copy(), embedded.labels.copy()
    train, test, valid = embedded.splits["train"], embedded.splits["test"], embedded.splits["valid"]
    images[test[0]] = images[valid[0]] = images[train[0]]
    labels[test[0]] = labels[valid[0]] = labels[train[0]]
    images[test[1]] = images[train[1]]
    labels[test[1]] = (labels[train[1]] + 1) % 10
    images[train[2]] = images[train[3]] = images[train[4]]
    labels[train[2:5]] = 0
    found = find_duplicates(dataclasses.replace(embedded, images=images, labels=labels))
    assert found.between == {"train/valid": 1, "train/test": 2, "valid/test": 1}
    assert found.within == {"train": 2}
    assert found.conflicting == 1
    assert len(found.example) == 2
