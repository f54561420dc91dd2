from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from supernetic.datasets import load
from supernetic.datasets.imagenet import IMAGENET_100
from supernetic.datasets.loading import outline
from supernetic.errors import DataError

OTHERS = ("n01440764", "n01443537")  # tench and goldfish, which the 100 do not have


def make(root: Path, classes: tuple[str, ...], counts: dict[str, int]) -> Path:
    for split, count in counts.items():
        for label, name in enumerate(classes):
            (root / split / name).mkdir(parents=True)
            for i in range(count):
                gray = Image.new("L", (12, 9), 2 * label)
                gray.save(root / split / name / f"{name}_{i}.JPEG")
    return root


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SUPERNETIC_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_val_is_the_test_split_and_images_are_colour_of_224_pixels(places: Path) -> None:
    make(places / "imagenet", OTHERS, {"train": 10, "val": 2})
    (places / "imagenet" / "test").mkdir()  # the official test images have no labels, and are not looked at
    Image.new("RGB", (9, 9)).save(places / "imagenet" / "test" / "ILSVRC2012_test_1.JPEG")
    data = load("imagenet", valid=4)
    assert data.name == "imagenet"
    assert data.images.shape == (24, 224, 224, 3)
    assert data.classes == OTHERS
    assert {k: len(v) for k, v in data.splits.items()} == {"train": 14, "valid": 4, "calibrate": 2, "test": 4}
    assert {data.files[row].split("/")[0] for row in data.splits["test"]} == {"val"}
    assert outline("imagenet", resolution=64).images.shape == (24, 64, 64, 3)


def test_the_hundred_classes_are_taken_from_either_folder(places: Path) -> None:
    assert len(set(IMAGENET_100)) == 100
    assert tuple(sorted(IMAGENET_100)) == IMAGENET_100
    make(places / "imagenet", (*OTHERS, *IMAGENET_100), {"train": 4, "val": 1})
    data = outline("imagenet100")
    assert data.classes == IMAGENET_100
    assert len(data.images) == 500
    assert not data.notes
    make(places / "imagenet100", IMAGENET_100, {"train": 4, "val": 2})
    data = outline("imagenet100")
    assert len(data.images) == 600
    assert np.bincount(data.labels[data.splits["test"]]).tolist() == [2] * 100


def test_another_hundred_is_said(places: Path) -> None:
    make(places / "imagenet100", (*OTHERS, *IMAGENET_100[2:]), {"train": 4, "val": 1})
    assert outline("imagenet100").notes == ("2 of the 100 classes are not those of Tian et al., which ScaleNet names",)


def test_errors_say_what_to_put_where(places: Path) -> None:
    with pytest.raises(DataError, match=r"^the data set imagenet is not in .*imagenet, data/imagenet: put the folders"):
        load("imagenet")
    (places / "imagenet" / "train").mkdir(parents=True)
    with pytest.raises(DataError, match=r"train has no folders of classes: put the folders train and val there"):
        load("imagenet")
    make(places / "imagenet", OTHERS, {"train": 4})
    with pytest.raises(DataError, match=r"imagenet has no folder val: put the folders train and val there"):
        load("imagenet")
    (places / "imagenet" / "val").mkdir()
    Image.new("RGB", (9, 9)).save(places / "imagenet" / "val" / "ILSVRC2012_val_1.JPEG")
    with pytest.raises(DataError, match=r"val has no folders of classes"):
        load("imagenet")
    make(places / "imagenet", ("n01558993",), {"val": 1})
    with pytest.raises(DataError, match=r"train lacks n01558993, one of the 100 classes, and has 2 others"):
        load("imagenet100")
