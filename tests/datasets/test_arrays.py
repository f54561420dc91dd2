from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic.datasets import load
from supernetic.datasets.arrays import read_npz
from supernetic.errors import DataError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (30, 8, 8, 3), dtype=np.uint8)
LABELS = np.arange(30) % 3


def write(path: Path, **arrays: Any) -> Path:
    np.savez(path / "own.npz", **arrays)
    return path / "own.npz"


def test_images_and_labels(tmp_path: Path) -> None:
    data = load(write(tmp_path, images=IMAGES, labels=LABELS, classes=np.array(["x", "y", "z"])))
    assert np.array_equal(data.images, IMAGES)
    assert np.array_equal(data.labels, LABELS)
    assert data.classes == ("x", "y", "z")
    assert [len(data.splits[s]) for s in data.splits] == [18, 3, 3, 6]


@pytest.mark.parametrize("names", [("x_{}", "y_{}"), ("{}_images", "{}_labels")])
def test_a_pair_per_split(tmp_path: Path, names: tuple[str, str]) -> None:
    parts = {"train": slice(0, 15), "val": slice(15, 21), "test": slice(21, 30)}
    arrays: dict[str, Any] = {}
    for word, rows in parts.items():
        arrays[names[0].format(word)] = IMAGES[rows]
        arrays[names[1].format(word)] = LABELS[rows, None]
    data = load(write(tmp_path, **arrays), calibrate=0)
    assert {s: list(data.rows[r]) for s, r in data.splits.items()} == {
        "train": list(range(15)),
        "valid": list(range(15, 21)),
        "calibrate": [],
        "test": list(range(21, 30)),
    }
    assert data.notes == ("the split calibrate is empty",)


@pytest.mark.parametrize(
    ("images", "note"),
    [
        (IMAGES.astype(np.int64), None),
        (IMAGES.astype(np.float32), None),
        ((IMAGES / 255).astype(np.float32), "floats in 0..1 stored as 256 levels"),
        (IMAGES.transpose(0, 3, 1, 2), "channels moved from the second axis to the last"),
    ],
)
def test_other_types_and_layouts(tmp_path: Path, images: Any, note: str | None) -> None:
    data = load(write(tmp_path, images=images, labels=LABELS))
    assert np.array_equal(data.images, IMAGES)
    assert data.notes == ((note,) if note else ())


def test_gray_and_black_and_white(tmp_path: Path) -> None:
    assert load(write(tmp_path, images=IMAGES[..., 0], labels=LABELS)).images.shape == (30, 8, 8, 1)
    binary = load(write(tmp_path, images=IMAGES[..., 0] > 99, labels=LABELS))
    assert np.array_equal(binary.images[..., 0], (IMAGES[..., 0] > 99) * 255)


def test_oblong_images_lose_their_edges(tmp_path: Path) -> None:
    data = load(write(tmp_path, images=IMAGES[:, 1:7], labels=LABELS))
    assert data.images.shape == (30, 6, 6, 3)
    assert np.array_equal(data.images, IMAGES[:, 1:7, 1:7])
    assert data.notes == ("images are 6x8: cut to the centre, 6x6",)


def test_labels_may_be_names(tmp_path: Path) -> None:
    names = np.array(["cat", "dog", "ant"])
    data = load(write(tmp_path, images=IMAGES, labels=names[LABELS]))
    assert data.classes == ("ant", "cat", "dog")
    assert [data.classes[i] for i in data.labels] == list(names[LABELS])


def changed(array: Any, at: Any, value: Any) -> Any:
    array = array.copy()
    array[at] = value
    return array


FLOATS = IMAGES / 255.0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": IMAGES}, "must hold images and labels, or x_train and y_train, got images"),
        ({"images": IMAGES, "labels": LABELS[:-1]}, "images has 30 images but labels has 29 labels"),
        ({"images": changed(FLOATS, (4, 0, 0, 0), np.nan), "labels": LABELS}, "finite numbers, got nan in image 4"),
        ({"images": changed(FLOATS, (4, 0, 0, 0), -1), "labels": LABELS}, r"must lie in 0\.\.255, .* got -1 to 1"),
        ({"images": IMAGES.astype(int) * 2, "labels": LABELS}, r"must lie in 0\.\.255"),
        ({"images": IMAGES.astype(complex), "labels": LABELS}, "must hold numbers, got complex128"),
        ({"images": IMAGES.reshape(30, -1), "labels": LABELS}, "got 30x192"),
        ({"images": IMAGES[:, :0], "labels": LABELS}, "got 30x0x8x3"),
        ({"images": IMAGES, "labels": LABELS - 1}, "labels must be 0 to 1, got -1 for image 0"),
        ({"images": IMAGES, "labels": LABELS, "classes": np.array(["a", "b"])}, "0 to 1, got 2 for image 2"),
        ({"images": IMAGES, "labels": LABELS * 10**8}, "cannot have 200000001 classes"),
        ({"images": IMAGES, "labels": LABELS + 0.5}, "whole numbers, got 0.5"),
        ({"images": IMAGES, "labels": changed(LABELS * 1.0, 3, np.nan)}, "whole numbers, got nan"),
        ({"images": IMAGES, "labels": LABELS > 0}, "class numbers or names, got bool"),
        ({"images": IMAGES, "labels": np.eye(3)[LABELS]}, "one label per image, got an array of 30x3"),
        ({"images": IMAGES, "labels": LABELS * 2}, "the class '1' has no training image"),
        ({"images": IMAGES, "labels": LABELS * 0}, "two classes or more"),
        ({"images": IMAGES[:2], "labels": LABELS[:2], "classes": np.array(list("abc"))}, "3 classes need as many"),
        ({"images": IMAGES, "labels": np.array(["a", "b", "c"])[LABELS], "classes": np.array(["a", "b"])}, "'c'"),
        ({"x_train": IMAGES, "y_train": LABELS, "x_test": IMAGES[:, :4], "y_test": LABELS}, "4x8x3 and 8x8x3"),
    ],
)
def test_faults_are_named_with_the_file(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    path = write(tmp_path, **arrays)
    with pytest.raises(DataError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_archive(tmp_path: Path) -> None:
    whole = write(tmp_path, images=IMAGES, labels=LABELS).read_bytes()
    np.save(tmp_path / "bare.npy", IMAGES)
    np.savez(tmp_path / "pickled.npz", images=np.array([{}], dtype=object), labels=LABELS)
    broken = {
        "short.npz": whole[: len(whole) // 2],
        "text.npz": b"hello",
        "bare.npz": (tmp_path / "bare.npy").read_bytes(),
        "pickled.npz": (tmp_path / "pickled.npz").read_bytes(),
    }
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"{name} is not a complete npz file without pickles"):
            read_npz(tmp_path / name)
