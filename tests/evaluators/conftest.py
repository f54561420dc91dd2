from __future__ import annotations

import numpy as np
import pytest

from supernetic.datasets.dataset import Dataset


@pytest.fixture(scope="session")
def blobs() -> Dataset:
    """Gray images of 12 x 12, each with a bright spot where its class says."""
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=160)
    images = rng.integers(0, 90, size=(160, 12, 12, 1), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        row, column = divmod(int(label), 2)
        image[6 * row : 6 * row + 5, 6 * column : 6 * column + 5] += 100
    rows = np.arange(160)
    splits = {"train": rows[:90], "valid": rows[90:130], "calibrate": rows[130:150], "test": rows[150:]}
    return Dataset("blobs", images, labels, ("a", "b", "c", "d"), splits, rows, "made up")
