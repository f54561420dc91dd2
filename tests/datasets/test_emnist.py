from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from supernetic.datasets import load
from supernetic.datasets.emnist import CLASSES, IMAGES_MAGIC, LABELS_MAGIC, part_of, read_idx
from supernetic.errors import DataError


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SUPERNETIC_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "emnist").mkdir()
    return tmp_path / "emnist"


def letters(count: int, first: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(count)
    return rng.integers(0, 256, (count, 28, 28), dtype=np.uint8), first + np.arange(count) % classes


def write_idx(folder: Path, part: str, first: int = 0, packed: bool = True) -> None:
    folder.mkdir(exist_ok=True)
    for split, count in (("train", 4 * len(CLASSES[part])), ("test", len(CLASSES[part]))):
        images, labels = letters(count, first, len(CLASSES[part]))
        turned = images.swapaxes(1, 2).tobytes()
        for name, head, data in (
            ("images-idx3", struct.pack(">4I", IMAGES_MAGIC, count, 28, 28), turned),
            ("labels-idx1", struct.pack(">2I", LABELS_MAGIC, count), labels.astype(np.uint8).tobytes()),
        ):
            path = folder / f"emnist-{part}-{split}-{name}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(head + data) if packed else head + data)


def test_both_kinds_of_files_give_the_same_upright_images(place: Path) -> None:
    write_idx(place / "gzip", "balanced")
    data = load("emnist")
    assert data.images.shape == (47 * 5, 28, 28, 1)
    assert data.classes == tuple("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt")
    assert np.array_equal(data.images[:188, ..., 0], letters(188, 0, 47)[0])
    assert len(data.splits["test"]) == 47
    parts = {}
    for split, count in (("train", 188), ("test", 47)):
        images, labels = letters(count, 0, 47)
        parts[split] = {"images": images.swapaxes(1, 2).reshape(count, 784), "labels": labels[:, None]}
    savemat(place / "emnist-balanced.mat", {"dataset": parts}, do_compression=True)
    again = load("emnist")
    assert again.fingerprint == data.fingerprint


def test_letters_are_counted_from_one(place: Path) -> None:
    write_idx(place, "letters", first=1, packed=False)
    data = load("emnist-letters")
    assert data.classes[0] == "A"
    assert np.bincount(data.labels).tolist() == [5] * 26
    assert part_of("emnist-letters") == "letters"


def test_errors_name_the_file(place: Path) -> None:
    with pytest.raises(DataError, match=r"emnist has no emnist-balanced\.mat and no .*: put EMNIST's files there"):
        load("emnist")
    write_idx(place, "digits")
    file = place / "emnist-digits-test-labels-idx1-ubyte.gz"
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    with pytest.raises(DataError, match=r"test-labels-idx1-ubyte\.gz cannot be read"):
        load("emnist-digits")
    file.write_bytes(gzip.compress(struct.pack(">2I", LABELS_MAGIC, 3) + b"\x01"))
    with pytest.raises(DataError, match=r"is cut off: 3 bytes are promised, 1 are there"):
        load("emnist-digits")
    file.write_bytes(gzip.compress(struct.pack(">2I", LABELS_MAGIC, 3) + b"\x01\x02\x03"))
    with pytest.raises(DataError, match=r"test has 10 images but 3 labels"):
        load("emnist-digits")
    file.unlink()
    with pytest.raises(DataError, match=r"emnist lacks emnist-digits-test-labels-idx1-ubyte\.gz"):
        load("emnist-digits")
    (place / "emnist-mnist.mat").write_bytes(b"no MATLAB file, but some bytes that are long enough for a header" * 9)
    with pytest.raises(DataError, match=r"emnist-mnist\.mat is no file of EMNIST"):
        load("emnist-mnist")


def test_files_that_promise_too_much_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "images"
    path.write_bytes(struct.pack(">4I", IMAGES_MAGIC, 2**31, 28, 28))
    with pytest.raises(DataError, match="must hold images of 28x28 or labels, got 2147483648x28x28"):
        read_idx(path, IMAGES_MAGIC)
    with pytest.raises(DataError, match="must begin with the number 0x801, got 0x803"):
        read_idx(path, LABELS_MAGIC)
