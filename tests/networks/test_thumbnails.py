from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from supernetic.datasets import load
from supernetic.networks.thumbnails import LARGEST_SIDE, thumbnails


def opened(png: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(png)))


def test_small_images_stay_as_they_are() -> None:
    data = load("embedded", limit=100)
    rows = data.splits["test"][[2, 0]]
    pictures = thumbnails(data, rows)
    for row, png in zip(rows, pictures, strict=True):
        assert np.array_equal(np.asarray(opened(png)), data.images[row, ..., 0])
    assert thumbnails(data, rows[:0]) == []


def test_large_images_are_made_smaller() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 200, 200, 3), dtype=np.uint8)
    data = load((pixels, np.arange(40) % 2))
    (png,) = thumbnails(data, data.splits["test"][:1])
    assert opened(png).size == (LARGEST_SIDE, LARGEST_SIDE)
    assert len(png) < 8000
