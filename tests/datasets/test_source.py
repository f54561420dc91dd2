from __future__ import annotations

import numpy as np

from supernetic.datasets.source import from_arrays

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 6, 6, 3), dtype=np.uint8)


def test_all_rows_are_not_copied() -> None:
    assert from_arrays(IMAGES)(np.arange(5), None, None)[0] is IMAGES


def test_rows_size_and_colour() -> None:
    images, notes = from_arrays(IMAGES)(np.array([3, 1]), None, None)
    assert np.array_equal(images, IMAGES[[3, 1]])
    assert notes == []
    assert from_arrays(IMAGES)(np.array([0]), 3, True)[0].shape == (1, 3, 3, 1)


def test_oblong_images() -> None:
    images, notes = from_arrays(IMAGES[:, :, 1:5])(np.arange(5), None, None)
    assert np.array_equal(images, IMAGES[:, 1:5, 1:5])
    assert notes == ["images are 6x4: cut to the centre, 4x4"]
