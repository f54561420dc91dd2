"""VOC and COCO annotations: what is read, and the one line that says what is wrong."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from supernetic.detection.reading import read_detection
from supernetic.errors import DataError


@pytest.fixture
def copy(voc: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(voc, tmp_path / "shapes"))


def test_voc(voc: Path) -> None:
    data = read_detection(voc)
    assert data.classes == ("disc", "square")
    assert {k: len(v) for k, v in data.splits.items()} == {"train": 8, "valid": 2, "test": 2}
    first = data.splits["train"][0]
    assert (first.width, first.height) == (64, 48)
    assert first.labels.tolist() == [0, 1]
    assert not data.notes


def test_boxes_follow_images_that_were_resized(shapes: SimpleNamespace, tmp_path: Path, voc: Path) -> None:
    """The size that an annotation states is that of its coordinates."""
    twice = read_detection(shapes.write_voc(tmp_path / "shapes", {"train": 8, "val": 2, "test": 2}, scale=2))
    once = read_detection(voc)
    for a, b in zip(twice.splits["train"], once.splits["train"], strict=True):
        assert np.array_equal(a.boxes, b.boxes)
    assert twice.fingerprint == once.fingerprint


def test_coco(shapes: SimpleNamespace, tmp_path: Path) -> None:
    data = read_detection(shapes.write_coco(tmp_path / "shapes", 20))
    assert data.classes == ("disc", "square")
    assert {k: len(v) for k, v in data.splits.items()} == {"train": 14, "valid": 3, "test": 3}
    assert any("were drawn" in note for note in data.notes)
    assert read_detection(tmp_path / "shapes", seed=0).fingerprint == data.fingerprint
    assert read_detection(tmp_path / "shapes", seed=1).fingerprint != data.fingerprint


def test_coco_files_by_split(shapes: SimpleNamespace, tmp_path: Path) -> None:
    table = shapes.coco_of(tmp_path, 6)
    (tmp_path / "annotations").mkdir()
    for split, rows in (("train", range(4)), ("val", range(4, 6))):
        part = {
            **table,
            "images": [i for i in table["images"] if i["id"] in rows],
            "annotations": [a for a in table["annotations"] if a["image_id"] in rows],
        }
        (tmp_path / "annotations" / f"instances_{split}.json").write_text(json.dumps(part))
    data = read_detection(tmp_path)
    assert len(data.splits["test"]) == 2  # the validation images, as COCO's own test images have no public boxes
    assert "the validation images of the data are used as test images" in data.notes


def test_both_formats_give_the_same_boxes(shapes: SimpleNamespace, tmp_path: Path) -> None:
    a = read_detection(shapes.write_voc(tmp_path / "voc", {"train": 3, "val": 1, "test": 1}))
    b = read_detection(shapes.write_coco(tmp_path / "coco", 5))
    theirs = {tuple(i.boxes.ravel().tolist()) for items in b.splits.values() for i in items}
    assert {tuple(i.boxes.ravel().tolist()) for items in a.splits.values() for i in items} == theirs


def edited(root: Path, pattern: str, text: str, name: str = "image0") -> None:
    file = root / "Annotations" / f"{name}.xml"
    file.write_text(re.sub(pattern, text, file.read_text(), count=1))


@pytest.mark.parametrize(
    ("pattern", "text", "message"),
    [
        (r"<xmax>\d+", "<xmax>90", r"image0\.xml: a box must lie within its image of 64x48, got .*90"),
        (r"<xmin>\d+", "<xmin>63", r"image0\.xml: a box must begin before it ends, got 63"),
        (r"<xmin>\d+", "<xmin>nan", r"image0\.xml: a box must have four finite numbers"),
        (r"<xmin>\d+", "<xmin>left", r"image0\.xml: bndbox/xmin must be a number, got 'left'"),
        (r"<name>disc</name>", "", r"image0\.xml: an object must have a name"),
        (r"<width>64", "<width>640", r"image0\.xml: the size must have the proportions of image0\.png, which is 64x48"),
        (r"</annotation>", "", r"image0\.xml is not readable as XML"),
        (r"<annotation>", '<!DOCTYPE a [<!ENTITY b "c">]><annotation>', r"image0\.xml: an annotation must declare no"),
    ],
)
def test_what_is_wrong_with_voc_files_is_one_line(copy: Path, pattern: str, text: str, message: str) -> None:
    edited(copy, pattern, text)
    with pytest.raises(DataError, match=message) as error:
        read_detection(copy)
    assert "\n" not in str(error.value)


def test_a_class_that_is_not_trained(copy: Path) -> None:
    edited(copy, "<name>disc", "<name>ring", name="image11")
    with pytest.raises(DataError, match=r"image11\.xml: its class must be one of .*disc, square, got 'ring'"):
        read_detection(copy)


def test_boxes_at_the_edge_are_cut_and_those_without_area_left_out(copy: Path) -> None:
    edited(copy, r"<ymin>\d+", "<ymin>-1")
    edited(copy, r"<xmin>\d+</xmin>", "<xmin>9</xmin>", name="image1")
    edited(copy, r"<xmax>\d+</xmax>", "<xmax>9</xmax>", name="image1")
    data = read_detection(copy)
    assert any(n.startswith("1 box was cut to its image") for n in data.notes)
    assert any(n.startswith("1 box without area was left out") for n in data.notes)
    assert len(data.splits["train"][1].labels) == 1
    assert data.splits["train"][0].boxes.min() >= 0


def test_images_without_boxes_are_kept(copy: Path) -> None:
    file = copy / "Annotations" / "image0.xml"
    file.write_text(re.sub("<object>.*</object>", "", file.read_text(), flags=re.S))
    data = read_detection(copy)
    assert data.splits["train"][0].boxes.shape == (0, 4)
    assert "1 image has no box" in data.notes


def test_an_image_that_is_missing(copy: Path) -> None:
    (copy / "JPEGImages" / "image3.png").unlink()
    with pytest.raises(DataError, match=r"image3\.xml: its image must be in .*JPEGImages"):
        read_detection(copy)


def test_an_image_in_two_splits(copy: Path) -> None:
    (copy / "ImageSets" / "Main" / "test.txt").write_text("image0\n")
    with pytest.raises(DataError, match="an image must be in one split only, got image0"):
        read_detection(copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t["annotations"][0].update(category_id=3), r"all\.json: a category must be one of 7, 9, got 3"),
        (
            lambda t: t["annotations"][0].update(bbox=[1, 2, 3]),
            r"all\.json: a bbox must be four numbers, got",
        ),
        (
            lambda t: t["annotations"][0].update(image_id=99),
            r"all\.json: an annotation must be of an image",
        ),
        (lambda t: t["images"][0].update(file_name="../a.png"), r"all\.json: file_name must stay within"),
        (lambda t: t["images"][0].update(file_name="b.png"), r"all\.json: its image b\.png is neither in"),
        (lambda t: t.pop("images"), r"all\.json must hold the lists images, annotations and categories"),
        (lambda t: t["annotations"][0].pop("bbox"), r"all\.json lacks what COCO's files have: KeyError: 'bbox'"),
        (
            lambda t: t["annotations"][0].update(bbox=[60, 2, 30, 5]),
            r"all\.json, image 0: a box must lie within",
        ),
    ],
)
def test_what_is_wrong_with_coco_files_is_one_line(
    shapes: SimpleNamespace, tmp_path: Path, change: Any, message: str
) -> None:
    root = shapes.write_coco(tmp_path / "shapes", 4)
    file = root / "annotations" / "all.json"
    table = json.loads(file.read_text())
    change(table)
    file.write_text(json.dumps(table))
    with pytest.raises(DataError, match=message) as error:
        read_detection(root)
    assert "\n" not in str(error.value)


def test_a_folder_without_annotations(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no annotations of objects: VOC has"):
        read_detection(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        read_detection(tmp_path / "nowhere")


def test_a_subset(voc: Path) -> None:
    data = read_detection(voc, limit=4)
    assert {k: len(v) for k, v in data.splits.items()} == {"train": 4, "valid": 1, "test": 1}
