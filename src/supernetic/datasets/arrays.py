"""`.npz` files: `images` and `labels`, or one pair per split (`x_train`/`y_train`, `train_images`/`train_labels`).

`classes`, if it is there, names the classes. No pickles are loaded.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from .dataset import Images, Indices, Labels
from .source import Source, from_arrays

Array = npt.NDArray[Any]
WORDS = {"train": ("train",), "valid": ("valid", "val"), "calibrate": ("calibrate",), "test": ("test",)}


def read(path: Path) -> Source:
    """The images and labels of a file."""
    arrays = read_npz(path)
    pairs = _pairs(path, arrays)
    notes: set[str] = set()
    images = {name: _images(f"{path}: {key}", arrays[key], notes) for name, (key, _) in pairs.items()}
    shapes = {x.shape[1:] for x in images.values()}
    if len(shapes) > 1:
        raise DataError(f"{path}: all splits must hold images of one size, got {_sizes(shapes)}")
    for name, (x, y) in pairs.items():
        if len(arrays[y]) != len(images[name]):
            raise DataError(f"{path}: {x} has {len(images[name])} images but {y} has {len(arrays[y])} labels")
    raw = np.concatenate([_column(f"{path}: {y}", arrays[y]) for _, y in pairs.values()])
    labels, classes = _classes(path, raw, arrays.get("classes"))
    given: dict[str, Indices] = {}
    start = 0
    for name, part in images.items():
        given[name] = np.arange(start, start + len(part))
        start += len(part)
    pixels = np.concatenate(list(images.values())) if len(images) > 1 else next(iter(images.values()))
    return Source(path.stem, str(path), labels, classes, given, from_arrays(pixels), notes=tuple(sorted(notes)))


def read_npz(path: Path) -> dict[str, Array]:
    """The arrays of a file."""
    try:
        with open(path, "rb") as file:  # ours to close: numpy forgets a file that is no complete archive
            arrays = np.load(file, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise ValueError("it holds one bare array")
            with arrays:
                return {name: arrays[name] for name in arrays.files}
    except (ValueError, EOFError, OSError, KeyError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} is not a complete npz file without pickles: {error}") from None


def _pairs(path: Path, arrays: dict[str, Array]) -> dict[str, tuple[str, str]]:
    """Names of images and labels, by split."""
    pairs = {"train": ("images", "labels")} if "images" in arrays and "labels" in arrays else {}
    for split, words in WORDS.items():
        for word in words:
            for x, y in ((f"x_{word}", f"y_{word}"), (f"{word}_images", f"{word}_labels")):
                if x in arrays and y in arrays and split not in pairs:
                    pairs[split] = (x, y)
    if "train" not in pairs:
        names = ", ".join(sorted(arrays)) or "nothing"
        raise DataError(f"{path} must hold images and labels, or x_train and y_train, got {names}")
    return pairs


def _images(what: str, values: Array, notes: set[str]) -> Images:
    if values.ndim == 3:
        values = values[..., None]
    if values.ndim == 4 and values.shape[3] not in (1, 3) and values.shape[1] in (1, 3):
        values = np.moveaxis(values, 1, 3)
        notes.add("channels moved from the second axis to the last")
    if values.ndim != 4 or values.shape[3] not in (1, 3) or 0 in values.shape:
        raise DataError(f"{what} must be N x H x W or N x H x W x 1 or 3, got {'x'.join(map(str, values.shape))}")
    if values.dtype == np.uint8:
        return np.ascontiguousarray(values)
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * np.uint8(255)
    if values.dtype.kind not in "iuf":
        raise DataError(f"{what} must hold numbers, got {values.dtype}")
    bad = np.argwhere(~np.isfinite(values)) if values.dtype.kind == "f" else np.empty((0, 4))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        raise DataError(f"{what} must hold finite numbers, got {values[where]} in image {where[0]}")
    low, high = float(values.min()), float(values.max())
    unit = values.dtype.kind == "f" and high <= 1
    if low < 0 or high > 255:
        raise DataError(f"{what} must lie in 0..255, or 0..1 for floats, got {low:g} to {high:g}")
    if unit:
        notes.add("floats in 0..1 stored as 256 levels")
    return np.ascontiguousarray(np.rint(values * 255 if unit else values).astype(np.uint8))


def _column(what: str, labels: Array) -> Array:
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise DataError(f"{what} must be one label per image, got an array of {'x'.join(map(str, labels.shape))}")
    if labels.dtype.kind == "f":
        if not np.array_equal(labels, np.rint(labels)):  # NaN is unlike itself
            raise DataError(f"{what} must hold whole numbers, got {labels[labels != np.rint(labels)][0]}")
        labels = labels.astype(np.int64)
    if labels.dtype.kind not in "iuU":
        raise DataError(f"{what} must hold class numbers or names, got {labels.dtype}")
    return labels


def _classes(path: Path, raw: Array, named: Array | None) -> tuple[Labels, tuple[str, ...]]:
    if raw.dtype.kind == "U":
        names = [str(n) for n in (np.unique(raw) if named is None else named)]
        unknown = sorted(set(map(str, np.unique(raw))) - set(names))
        if unknown:
            raise DataError(f"{path}: the label {unknown[0]!r} is not among the classes {', '.join(names)}")
        return np.array([names.index(str(n)) for n in raw], dtype=np.int64), tuple(names)
    labels = raw.astype(np.int64)
    count = int(labels.max(initial=-1)) + 1 if named is None else len(named)
    wrong = np.flatnonzero((labels < 0) | (labels >= count))
    if len(wrong):
        raise DataError(f"{path}: labels must be 0 to {count - 1}, got {labels[wrong[0]]} for image {wrong[0]}")
    if count > 2 * len(labels):  # a label such as 10^9 would make as many classes
        raise DataError(f"{path}: {len(labels)} images cannot have {count} classes; labels must be 0 to classes - 1")
    return labels, tuple(map(str, range(count) if named is None else named))


def _sizes(shapes: set[tuple[int, ...]]) -> str:
    return " and ".join("x".join(map(str, s)) for s in sorted(shapes))
