from __future__ import annotations

import io
import os
import pickle
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic.datasets import load
from supernetic.datasets.cifar import from_binary, from_python, read
from supernetic.datasets.known import CIFAR10_CLASSES
from supernetic.errors import DataError

N = 20  # images per batch; the official files have 10,000
PIXELS = np.random.default_rng(0).integers(0, 256, (6, N, 3072), dtype=np.uint8)
LABELS = np.arange(6 * N).reshape(6, N) % 10
NAMES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]


def short(text: bytes) -> bytes:
    return b"U" + bytes([len(text)]) + text


def number(n: int) -> bytes:
    return b"M" + struct.pack("<H", n)


def python2(pixels: np.ndarray[Any, np.dtype[np.uint8]], labels: list[int]) -> bytes:
    """The opcodes that Python 2 and its numpy wrote, spelt out."""
    kind = b"cnumpy\ndtype\n" + short(b"u1") + b"K\x00K\x01\x87R(K\x03" + short(b"|") + b"NNN"
    kind += b"J\xff\xff\xff\xff" * 2 + b"K\x00tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + short(b"b") + b"\x87R(K\x01"
    array += number(pixels.shape[0]) + number(pixels.shape[1]) + b"\x86" + kind + b"\x89"
    array += b"T" + struct.pack("<i", pixels.size) + pixels.tobytes() + b"tb"
    numbers = b"](" + b"".join(map(number, labels)) + b"e"
    items = short(b"data") + array + short(b"labels") + numbers + short(b"batch_label") + short(b"batch 1 of 5")
    return b"\x80\x02}(" + items + b"u."


def python_files() -> dict[str, bytes]:
    return {n: python2(PIXELS[i], LABELS[i].tolist()) for i, n in enumerate(NAMES)}


def binary_files() -> dict[str, bytes]:
    joined = np.concatenate([LABELS[..., None].astype(np.uint8), PIXELS], axis=2)
    return {f"{n}.bin": joined[i].tobytes() for i, n in enumerate(NAMES)}


def archive(path: Path, files: dict[str, bytes], inner: str) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{inner}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def extracted(path: Path, files: dict[str, bytes]) -> Path:
    path.mkdir(parents=True)
    for name, content in files.items():
        (path / name).write_bytes(content)
    return path


def test_all_four_forms_are_the_same_data(tmp_path: Path) -> None:
    forms = [
        archive(tmp_path / "cifar-10-python.tar.gz", python_files(), "cifar-10-batches-py"),
        archive(tmp_path / "cifar-10-binary.tar.gz", binary_files(), "cifar-10-batches-bin"),
        extracted(tmp_path / "a" / "cifar-10-batches-py", python_files()),
        extracted(tmp_path / "b" / "cifar-10-batches-bin", binary_files()),
        tmp_path / "a",  # the folder around it
    ]
    data = [load(form) for form in forms]
    assert len({d.fingerprint for d in data}) == 1
    first = data[0]
    assert first.classes == CIFAR10_CLASSES
    assert np.array_equal(first.labels, LABELS.ravel())
    assert np.array_equal(first.splits["test"], np.arange(5 * N, 6 * N))
    red, green, blue = PIXELS[0, 0].reshape(3, 32, 32)
    assert np.array_equal(first.images[0], np.dstack([red, green, blue]))


def test_a_folder_that_holds_the_archive(tmp_path: Path) -> None:
    (tmp_path / "cifar10").mkdir()
    path = archive(tmp_path / "cifar10" / "cifar-10-python.tar.gz", python_files(), "cifar-10-batches-py")
    assert load(tmp_path / "cifar10").fingerprint == load(path).fingerprint


def test_files_pickled_again_by_python_3() -> None:
    for protocol in (3, 4):
        data = pickle.dumps({b"data": PIXELS[0], b"labels": LABELS[0].tolist()}, protocol=protocol)
        images, labels = from_python("x", data)
        assert np.array_equal(images.transpose(0, 3, 1, 2).reshape(N, -1), PIXELS[0])
        assert np.array_equal(labels, LABELS[0])


class Forged:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_a_forged_pickle_is_refused_and_does_nothing(tmp_path: Path) -> None:
    for protocol in (2, 4):
        forged = pickle.dumps({"data": Forged(tmp_path / "trace")}, protocol=protocol)
        with pytest.raises(DataError, match=r"^x is not a batch of CIFAR-10: it asks for posix\.mkdir, which"):
            from_python("x", forged)
    assert list(tmp_path.iterdir()) == []
    for name in (b"cbuiltins\neval\n(U\x011tR.", b"cnumpy\nload\n(U\x011tR.", b"cos\nsystem\n(U\x011tR."):
        with pytest.raises(DataError, match="which is refused"):
            from_python("x", b"\x80\x02" + name)


@pytest.mark.parametrize(
    "data",
    [
        python_files()["data_batch_1"][:-500],
        b"",
        b"hello",
        pickle.dumps([1], protocol=2),
        pickle.dumps({b"data": 3, b"labels": [1]}, protocol=4),
        pickle.dumps({b"data": PIXELS[0].astype(np.int32), b"labels": LABELS[0].tolist()}, protocol=4),
        pickle.dumps({b"data": np.asfortranarray(PIXELS[0]), b"labels": LABELS[0].tolist()}, protocol=4),
        python2(PIXELS[0], [1, 2, 3]),
        python2(PIXELS[0][:, :3000], LABELS[0].tolist()),
    ],
)
def test_damaged_batches(data: bytes) -> None:
    with pytest.raises(DataError, match="x is not a batch of CIFAR-10: "):
        from_python("x", data)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="x must hold records of 3073 bytes, got 3000 bytes"):
        from_binary("x", b"0" * 3000)
    path = archive(tmp_path / "a.tar.gz", python_files(), "cifar-10-batches-py")
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(DataError, match=r"a\.tar\.gz is not a complete tar archive"):
        read(path)
    files = python_files()
    del files["data_batch_4"]
    with pytest.raises(DataError, match="lacks data_batch_4"):
        read(extracted(tmp_path / "incomplete", files))
    bad = {**binary_files(), "data_batch_2.bin": bytes([11]) + bytes(3072)}
    with pytest.raises(DataError, match="labels must be 0 to 9, got 11 for image 20"):
        read(extracted(tmp_path / "bad", bad))
    with pytest.raises(DataError, match="does not hold CIFAR-10"):
        load(archive(tmp_path / "other.tgz", {"readme": b"hello"}, "x"))


def test_an_archive_cannot_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supernetic.datasets.cifar.LARGEST_FILE_BYTES", 1000)
    path = archive(tmp_path / "a.tar.gz", python_files(), "cifar-10-batches-py")
    with pytest.raises(DataError, match=r"data_batch_1 has .* bytes: no file of CIFAR-10 has more than 1,000"):
        read(path)
