from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from supernetic.datasets import Dataset, load
from supernetic.datasets.sheets import NPM_IMAGES, read, read_npm, tiles
from supernetic.errors import DataError


def encode(pixels: Any, kind: str = "WEBP") -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format=kind, **({"lossless": True} if kind == "WEBP" else {}))
    return file.getvalue()


def sheet(images: Any, columns: int) -> Any:
    """Tile by tile, as slowly as can be."""
    n, resolution, _, channels = images.shape
    out = np.zeros((-(-n // columns) * resolution, columns * resolution, channels), dtype=np.uint8)
    for i, image in enumerate(images):
        y, x = i // columns * resolution, i % columns * resolution
        out[y : y + resolution, x : x + resolution] = image
    return out


@pytest.fixture
def small(tmp_path: Path, embedded: Dataset) -> Path:
    """60 training images on two sheets and 20 test images."""
    path = tmp_path / "small_set"
    path.mkdir()
    colour = np.stack([embedded.images[i : i + 80, :16, :16, 0] for i in (0, 80, 160)], axis=3)
    for name, part in {"train_0": colour[:30], "train_1": colour[30:60], "test": colour[60:]}.items():
        (path / f"{name}.webp").write_bytes(encode(sheet(part, 10)))
    np.savez(path / "labels.npz", train=np.arange(60) % 4, test=np.arange(20) % 4)
    return path


def test_tiles_come_back_in_order(small: Path, embedded: Dataset) -> None:
    for _ in range(2):  # decoded, then from the cache
        data = load(small, calibrate=0)
        assert data.images.shape == (80, 16, 16, 3)
        for channel, start in enumerate((0, 80, 160)):
            assert np.array_equal(data.images[..., channel], embedded.images[start : start + 80, :16, :16, 0])
        assert np.array_equal(data.labels[:60], np.arange(60) % 4)
        assert np.array_equal(data.splits["test"], np.arange(60, 80))
        assert data.name == "small-set"


def test_ten_sheets_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for i in range(11):
        (tmp_path / f"train_{i}.webp").write_bytes(encode(np.full((4, 4, 3), i * 20, dtype=np.uint8)))
    (tmp_path / "test.webp").write_bytes(encode(np.zeros((4, 4, 3), dtype=np.uint8)))
    np.savez(tmp_path / "labels.npz", train=np.arange(11) % 2, test=np.array([0]))
    source = read(tmp_path)
    assert source.pixels(np.arange(12), None, None)[0][:, 0, 0, 0].tolist() == [*range(0, 220, 20), 0]


def test_gray_sheets_are_gray(embedded: Dataset) -> None:
    gray = sheet(embedded.images[:20], 5)
    for data in (encode(np.repeat(gray, 3, axis=2)), encode(gray[..., 0], "PNG")):
        assert np.array_equal(tiles("x", data, 20), embedded.images[:20])
    assert np.array_equal(tiles("x", encode(gray[..., 0], "PNG"), 18, 28), embedded.images[:18])


def test_damaged_directories(small: Path) -> None:
    labels = (small / "labels.npz").read_bytes()
    np.savez(small / "labels.npz", train=np.arange(60) % 4, test=np.arange(21) % 4)
    with pytest.raises(DataError, match=r"test\.webp must be a sheet of 21 square tiles, got 160x32 pixels"):
        read(small).pixels(np.arange(81), None, None)
    np.savez(small / "labels.npz", train=np.arange(60) % 4 - 1, test=np.arange(20) % 4)
    with pytest.raises(DataError, match="labels must be 0 to 3, got -1 for image 0"):
        read(small)
    np.savez(small / "labels.npz", train=np.ones((60, 2)), test=np.arange(20))
    with pytest.raises(DataError, match="one number per image"):
        read(small)
    np.savez(small / "labels.npz", train=np.arange(60))
    with pytest.raises(DataError, match="must hold the labels `train` and `test`, got train"):
        read(small)
    (small / "labels.npz").write_bytes(labels[:-40])
    with pytest.raises(DataError, match=r"labels\.npz is not a complete npz"):
        read(small)
    (small / "labels.npz").write_bytes(labels)
    whole = (small / "train_1.webp").read_bytes()
    (small / "train_1.webp").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"train_1\.webp cannot be decoded"):
        read(small).pixels(np.arange(80), None, None)
    (small / "test.webp").unlink()
    with pytest.raises(DataError, match=r"has labels but no test\.webp"):
        read(small)


def test_npm_files_that_do_not_fit(tmp_path: Path) -> None:
    files = dict.fromkeys(NPM_IMAGES, encode(np.zeros((4, 1024, 3), dtype=np.uint8), "PNG"))
    with pytest.raises(DataError, match=r"lacks train_lables\.json"):
        read_npm(tmp_path, files)
    files |= {"train_lables.json": b"[1]", "test_lables.json": b"[1"}
    with pytest.raises(DataError, match=r"data_batch_1\.png must be 1024 x 10000 RGB pixels, got 1024 x 4"):
        read_npm(tmp_path, files)


def test_npm_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supernetic.datasets.sheets.NPM_ROWS", 20)
    pixels = np.random.default_rng(0).integers(0, 256, (6, 20, 1024, 3), dtype=np.uint8)
    files = {name: encode(pixels[i], "PNG") for i, name in enumerate(NPM_IMAGES)}
    files["train_lables.json"] = json.dumps((np.arange(100) % 10).tolist()).encode()
    files["test_lables.json"] = json.dumps((np.arange(20) % 10).tolist()).encode()
    source = read_npm(tmp_path, files)
    images, _ = source.pixels(np.arange(120), None, None)
    assert np.array_equal(images[27, 3, 4], pixels[1, 7, 3 * 32 + 4])
    assert np.array_equal(images.reshape(6, 20, 1024, 3), pixels)
    assert np.array_equal(source.given["test"], np.arange(100, 120))
    files["test_lables.json"] = b"[1, 2]"
    with pytest.raises(DataError, match="100 and 20 labels, got 100 and 2"):
        read_npm(tmp_path, files)
    files["test_lables.json"] = b"[1, "
    with pytest.raises(DataError, match="JSON lists of numbers"):
        read_npm(tmp_path, files)


def test_the_real_fashion_mnist(sheets: Path) -> None:
    fashion = load(sheets / "fashion_mnist")
    assert fashion.images.shape == (70_000, 28, 28, 1)
    assert fashion.classes[9] == "ankle boot"
    # published: mean .2860, deviation .3530 over the 60,000 training images
    pixels = fashion.images[:60_000] / np.float32(255)
    assert pixels.mean(dtype=np.float64) == pytest.approx(0.2860, abs=5e-5)
    assert pixels.std(dtype=np.float64) == pytest.approx(0.3530, abs=5e-5)


def test_a_part_of_the_real_cifar10(sheets: Path, tmp_path: Path) -> None:
    with np.load(sheets / "cifar10" / "labels.npz") as labels:
        np.savez(
            tmp_path / "labels.npz", train=labels["train"][:10_000], test=labels["test"], classes=labels["classes"]
        )
    for name in ("train_0.webp", "test.webp"):
        (tmp_path / name).symlink_to(sheets / "cifar10" / name)
    data = load(tmp_path)
    assert data.images.shape == (20_000, 32, 32, 3)
    assert data.counts("test") == [1000] * 10
    # published for all 50,000: .4914 .4822 .4465
    assert np.allclose(data.mean, (0.4914, 0.4822, 0.4465), atol=5e-3)
