"""Annotations brought to the pixels of their images."""

from pathlib import Path

import pytest
from PIL import Image

from supernetic.detection.annotations import Annotation, Object, settle, upright_size
from supernetic.errors import DataError


def annotations(folder: Path, count: int, name: str = "a") -> list[Annotation]:
    for i in range(count):
        Image.new("RGB", (40, 20)).save(folder / f"{i}.png")
    return [Annotation(folder / f"{i}.png", f"{i}.xml", None, (Object(name, (1, 2, 9, 9)),)) for i in range(count)]


def test_splits_that_are_missing_are_drawn_from_the_training_images(tmp_path: Path) -> None:
    data = settle("some", None, {"": annotations(tmp_path, 20)})
    assert {k: len(v) for k, v in data.splits.items()} == {"train": 14, "valid": 3, "test": 3}
    paths = [i.path for items in data.splits.values() for i in items]
    assert len(set(paths)) == 20


def test_ignored_boxes_keep_their_mark(tmp_path: Path) -> None:
    (first, *rest) = annotations(tmp_path, 4)
    marked = Annotation(first.image, "a.xml", (40, 20), (Object("a", (1, 2, 9, 9), True), Object("a", (0, 0, 40, 20))))
    data = settle("some", None, {"train": [marked, rest[0]], "valid": [rest[1]], "test": [rest[2]]})
    assert data.splits["train"][0].ignored.tolist() == [True, False]


def test_what_cannot_be_used(tmp_path: Path) -> None:
    items = annotations(tmp_path, 2)
    with pytest.raises(DataError, match="at least 3 images"):
        settle("some", None, {"": items})
    with pytest.raises(DataError, match="name no training images, only valid"):
        settle("some", None, {"valid": items})
    empty = [Annotation(i.image, i.file, None, ()) for i in annotations(tmp_path, 6)]
    with pytest.raises(DataError, match="the training images have no boxes"):
        settle("some", ["a"], {"": empty})


def test_photographs_that_lie_on_their_side_are_measured_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (40, 20)).save(tmp_path / "a.jpg", exif=exif)
    assert upright_size(tmp_path / "a.jpg") == (20, 40)
    with pytest.raises(DataError, match="does not exist"):
        upright_size(tmp_path / "b.jpg")
