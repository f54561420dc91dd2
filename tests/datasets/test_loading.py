from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from supernetic.datasets import Dataset, load
from supernetic.errors import DataError, InputError, UnknownNameError


def test_loading_needs_no_torch() -> None:
    code = "import sys; from supernetic.datasets import load; load(limit=100); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_options_compose(embedded: Dataset) -> None:
    data = load("embedded", resolution=14, gray=False, classes=["bag", "coat"], limit=200, seed=3)
    assert data.images.shape == (200, 14, 14, 3)
    assert data.classes == ("bag", "coat")
    assert data.counts("test") == [20, 20]
    assert set(data.rows) <= set(np.flatnonzero(np.isin(embedded.labels, (4, 8))))
    for row, label in zip(data.rows, data.labels, strict=True):
        assert embedded.classes[embedded.labels[row]] == data.classes[label]
    assert np.array_equal(data.images[..., 0], data.images[..., 2])


def test_the_seed_moves_splits_but_never_the_test_images(embedded: Dataset) -> None:
    other = load("embedded", seed=1)
    assert np.array_equal(other.splits["test"], embedded.splits["test"])
    assert not np.array_equal(other.splits["valid"], embedded.splits["valid"])
    assert np.array_equal(other.images, embedded.images)


def test_shares(embedded: Dataset) -> None:
    data = load("embedded", valid=0.2, calibrate=0)
    assert [len(rows) for rows in data.splits.values()] == [6400, 1600, 0, 2000]
    assert data.notes == ("the split calibrate is empty",)


def test_names_by_place(sheets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERNETIC_DATA", str(sheets))
    data = load("fashion-mnist", limit=500)
    assert (data.name, data.licence, len(data.images)) == ("fashion-mnist", "MIT", 500)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("embeded", {}, "unknown data set 'embeded': did you mean 'embedded'?"),
        ("embedded", {"classes": ["bags", "coat"]}, "unknown class 'bags': did you mean 'bag'?"),
        ("embedded", {"classes": ["bag", "bag"]}, "a class is named twice: bag, bag"),
        ("embedded", {"classes": ["bag"]}, "embedded: a task needs two classes or more, got bag"),
        ("embedded", {"resolution": 0}, "the resolution of images must be 1 to 1024 pixels, got 0"),
        ("embedded", {"limit": 19}, "a limit of 19 images is below 20, one of each class and split"),
        ("embedded", {"valid": 0.99}, "valid 0.99, calibrate 0.05 leave none of 8000 images to train on"),
        ("no/such/place", {}, "no/such/place does not exist"),
        ("images.zip", {}, "images.zip does not exist"),
    ],
)
def test_bad_requests(source: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(source, **options)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_files_of_unknown_kinds(tmp_path: Path) -> None:
    (tmp_path / "images.zip").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"images\.zip is not a data set: a folder"):
        load(tmp_path / "images.zip")
    with pytest.raises(UnknownNameError):
        load("mnist")
