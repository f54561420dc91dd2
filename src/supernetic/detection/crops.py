"""The objects of annotated images as small images with labels: what a classifier can learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from ..datasets.dataset import SPLITS, Dataset, Images
from .annotations import Annotated, DetectionData

MOST_CROPS = {"train": 2000, "valid": 1000}  # of a split; the others stay unread
MOST_OF_AN_IMAGE = 20  # crops, so that many images are seen
RESOLUTION = 32  # pixels of a crop


def crops_of(data: DetectionData, seed: int = 0) -> Dataset:
    """Crops around training and validation objects; of many, some are drawn.

    Args:
        data: Images with boxes. Test images are not read.
        seed: Of what is drawn.

    Returns:
        Crops of 32 x 32 pixels, with the classes of their boxes.
    """
    images: list[Images] = []
    labels: list[int] = []
    splits = {}
    for split in SPLITS:
        first, most = len(labels), MOST_CROPS.get(split, 0)
        for crop, label in _some_crops(data.splits[split] if most else (), most, np.random.default_rng([seed, most])):
            images.append(crop)
            labels.append(label)
        splits[split] = np.arange(first, len(labels))
    pixels = np.array(images, np.uint8).reshape(-1, RESOLUTION, RESOLUTION, 3)
    name = f"objects of {data.name}"
    return Dataset(name, pixels, np.array(labels, np.int64), data.classes, splits, np.arange(len(labels)), data.name)


def _some_crops(items: Sequence[Annotated], most: int, rng: np.random.Generator) -> Iterator[tuple[Images, int]]:
    left = most
    for row in rng.permutation(len(items)):
        item = items[row]
        objects = rng.permutation(np.flatnonzero(~item.ignored))[: min(left, MOST_OF_AN_IMAGE)]
        if not len(objects):
            continue
        image = item.image()
        for i in objects:
            yield _crop(image, item.boxes[i]), int(item.labels[i])
        left -= len(objects)
        if not left:
            return


def _crop(image: Image.Image, box: npt.NDArray[np.float32]) -> Images:
    """The square around a box, as far as the image reaches."""
    left, top, right, bottom = map(float, box)
    half = max(right - left, bottom - top) / 2
    x, y = (left + right) / 2, (top + bottom) / 2
    square = max(0.0, x - half), max(0.0, y - half), min(image.width, x + half), min(image.height, y + half)
    small = image.resize((RESOLUTION, RESOLUTION), Image.Resampling.BILINEAR, box=square)
    return np.asarray(small, np.uint8)
