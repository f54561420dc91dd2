"""Training images of a detector: the same number is the same batch, and boxes stay on their objects."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from supernetic.detection.batches import DetectionBatches, as_tensor
from supernetic.detection.reading import read_detection


def test_batches_by_number(voc: Path) -> None:
    items = read_detection(voc).splits["train"]
    batches = DetectionBatches(items, 3, 64, seed=5)
    assert batches.steps_per_epoch == 3
    (a, targets), (b, again) = batches.batch(4), batches.batch(4)
    assert all(map(torch.equal, a, b))
    assert torch.equal(targets[0]["boxes"], again[0]["boxes"])
    other, _ = batches.batch(5)
    assert not all(map(torch.equal, a, other))


def test_an_epoch_has_every_image_once(voc: Path) -> None:
    batches = DetectionBatches(read_detection(voc).splits["train"], 4, 64)
    assert sorted(batches._row(p) for p in range(8)) == list(range(8))
    assert [batches._row(p) for p in range(8)] != [batches._row(p) for p in range(8, 16)]


def test_boxes_stay_on_their_objects(voc: Path) -> None:
    """Discs are blue and squares red, also in images that were mirrored and enlarged."""
    batches = DetectionBatches(read_detection(voc).splits["train"], 8, 96)
    mirrored = 0
    for image, target in zip(*batches.batch(0), strict=True):
        assert image.shape == (3, 72, 96)
        for box, label in zip(target["boxes"], target["labels"], strict=True):
            x, y = ((box[:2] + box[2:]) / 2).int().tolist()
            assert image[:, y, x].argmax() == (2 if label == 0 else 0)
        mirrored += bool(target["boxes"][0, 0] > target["boxes"][1, 0])  # the disc is left of the square
    assert 0 < mirrored < 8


def test_the_longer_side_is_set() -> None:
    image = Image.fromarray(np.zeros((100, 50, 3), np.uint8))
    assert as_tensor(image, 64).shape == (3, 64, 32)
    assert as_tensor(image.convert("L"), 100).shape == (3, 100, 50)
