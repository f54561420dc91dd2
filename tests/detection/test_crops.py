"""Objects, cut out of annotated images."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from supernetic.detection.annotations import Annotated, DetectionData
from supernetic.detection.crops import MOST_OF_AN_IMAGE, RESOLUTION, crops_of
from supernetic.detection.reading import read_detection
from supernetic.errors import DataError


def test_training_and_validation_objects_alone(voc: Path) -> None:
    data = read_detection(voc)
    crops = crops_of(data)
    for split in ("train", "valid"):
        found = np.bincount(np.concatenate([i.labels for i in data.splits[split]]), minlength=2)
        assert crops.counts(split) == found.tolist()
    assert not len(crops.splits["test"])
    assert crops.classes == data.classes
    assert crops.images.shape[1:] == (RESOLUTION, RESOLUTION, 3)


def annotated(path: Path, boxes: list[tuple[float, float, float, float]], ignored: list[bool]) -> Annotated:
    """An image that is black on the left and white on the right."""
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[:, 40:] = 255
    Image.fromarray(pixels).save(path)
    labels = np.zeros(len(boxes), np.int64)
    return Annotated(path, 80, 40, np.array(boxes, np.float32), labels, np.array(ignored))


def test_a_crop_is_the_square_around_its_box_within_the_image(tmp_path: Path) -> None:
    item = annotated(tmp_path / "image.png", [(10, 18, 30, 22), (60, 0, 80, 40)], [False, False])
    data = DetectionData("sides", ("side",), {"train": (item,), "valid": (), "test": ()})
    assert sorted(crops_of(data).images.mean(axis=(1, 2, 3)).tolist()) == [0, 255]


def test_ignored_objects_are_left_out_and_an_image_gives_some(tmp_path: Path) -> None:
    many = annotated(tmp_path / "many.png", [(0, 0, 20, 20)] * 50, [True] * 5 + [False] * 45)
    one = annotated(tmp_path / "one.png", [(0, 0, 20, 20), (0, 0, 9, 9)], [True, False])
    data = DetectionData("sides", ("side",), {"train": (many, one), "valid": (), "test": ()})
    assert len(crops_of(data).labels) == MOST_OF_AN_IMAGE + 1


def test_images_with_nothing_to_train_on_are_refused(tmp_path: Path) -> None:
    none = annotated(tmp_path / "none.png", [(0, 0, 20, 20)], [True])
    with pytest.raises(DataError, match="sides: the training images have no boxes to train on"):
        DetectionData("sides", ("side",), {"train": (none,), "valid": (), "test": ()})
