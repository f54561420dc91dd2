"""`.npz` files: `images` and `labels`, or one pair per split (`x_train`/`y_train`, `train_images`/`train_labels`).

`classes`, if it is there, names the classes. No pickles are loaded. Files that `in_memory` writes also hold `_name` and
`_notes`: what the data set is called, and what was changed on the way in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import UNREADABLE_NPZ, npz_arrays
from ..errors import DataError
from ..reading import open_plain, reason
from .dataset import Images, Indices, Labels
from .source import Source, from_arrays

Array = npt.NDArray[Any]
ArrayLike = npt.ArrayLike
SPLIT_WORDS = {"train": ("train",), "valid": ("valid", "val"), "calibrate": ("calibrate",), "test": ("test",)}


def read(path: Path) -> Source:
    """The images and labels of a file.

    Args:
        path: an `.npz` file.

    Returns:
        Its labels at once, its pixels on demand.
    """
    arrays = read_npz(path)
    pairs = _pairs(path, arrays)
    notes = {str(note) for note in arrays.get("_notes", ())}
    images = {split: to_images(f"{path}: {key}", arrays[key], notes) for split, (key, _) in pairs.items()}
    check_sizes(str(path), images)
    for split, (x, y) in pairs.items():
        if len(arrays[y]) != len(images[split]):
            raise DataError(f"{path}: {x} has {len(images[split])} images but {y} has {len(arrays[y])} labels")
    raw = np.concatenate([to_column(f"{path}: {y}", arrays[y]) for _, y in pairs.values()])
    labels, classes = to_labels(str(path), raw, arrays.get("classes"))
    pixels = np.concatenate(list(images.values())) if len(images) > 1 else next(iter(images.values()))
    name = str(arrays.get("_name", path.stem))
    return Source(name, str(path), labels, classes, rows_of(images), from_arrays(pixels), notes=tuple(sorted(notes)))


def rows_of(parts: Mapping[str, Sized]) -> dict[str, Indices]:
    """The rows that each split has when all splits stand one behind the other.

    Args:
        parts: the images or labels of each split.

    Returns:
        Rows by split.
    """
    ends = np.cumsum([len(part) for part in parts.values()])
    return {split: np.arange(end - len(parts[split]), end) for split, end in zip(parts, ends, strict=True)}


def check_sizes(what: str, images: Mapping[str, Images]) -> None:
    """Refuse splits whose images differ in size.

    Args:
        what: the data set, for the message.
        images: images by split.
    """
    shapes = {x.shape[1:] for x in images.values()}
    if len(shapes) > 1:
        sizes = " and ".join("x".join(map(str, s)) for s in sorted(shapes))
        raise DataError(f"{what}: all splits must hold images of one size, got {sizes}")


def read_npz(path: Path) -> dict[str, Array]:
    """The arrays of a file.

    Args:
        path: an `.npz` file; one that needs pickles is refused.

    Returns:
        Arrays by name.
    """
    try:
        with open_plain(path) as file:  # ours to close: numpy forgets a file that is no complete archive
            return npz_arrays(file)
    except UNREADABLE_NPZ as error:
        raise DataError(f"{path} is not a complete npz file without pickles: {reason(error)}") from None


def _pairs(path: Path, arrays: dict[str, Array]) -> dict[str, tuple[str, str]]:
    """Names of images and labels, by split."""
    pairs = {"train": ("images", "labels")} if "images" in arrays and "labels" in arrays else {}
    for split, words in SPLIT_WORDS.items():
        for word in words:
            for x, y in ((f"x_{word}", f"y_{word}"), (f"{word}_images", f"{word}_labels")):
                if x in arrays and y in arrays and split not in pairs:
                    pairs[split] = (x, y)
    if "train" not in pairs:
        names = ", ".join(sorted(arrays)) or "nothing"
        raise DataError(f"{path} must hold images and labels, or x_train and y_train, got {names}")
    return pairs


def to_images(what: str, values: Array, notes: set[str]) -> Images:
    """Images as bytes, N x H x W x 1 or 3.

    Args:
        what: the array, for messages.
        values: N x H x W, N x H x W x C or N x C x H x W; bytes, booleans, numbers in 0..255 or floats in 0..1.
        notes: gains a line for everything that is changed.

    Returns:
        The images.
    """
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


def to_column(what: str, labels: Array) -> Array:
    """Labels as one column of class numbers or names.

    Args:
        what: the array, for messages.
        labels: N or N x 1.

    Returns:
        N numbers or names.
    """
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


def to_labels(what: str, raw: Array, named: ArrayLike | None) -> tuple[Labels, tuple[str, ...]]:
    """Class numbers and class names.

    Args:
        what: the data set, for messages.
        raw: a column of class numbers or names.
        named: the names of the classes, in the order of their numbers; None: as the labels say.

    Returns:
        Labels 0 to classes - 1, and the names.
    """
    names = None if named is None else [str(name) for name in np.asarray(named).tolist()]
    if names is not None and len(set(names)) < len(names):
        raise DataError(f"{what}: each class needs a name of its own, got {', '.join(names)}")
    if raw.dtype.kind == "U":
        names = names if names is not None else [str(name) for name in np.unique(raw)]
        unknown = sorted(set(map(str, np.unique(raw))) - set(names))
        if unknown:
            raise DataError(f"{what}: the label {unknown[0]!r} is not among the classes {', '.join(names)}")
        return np.array([names.index(str(name)) for name in raw], dtype=np.int64), tuple(names)
    labels = raw.astype(np.int64)
    count = int(labels.max(initial=-1)) + 1 if names is None else len(names)
    wrong = np.flatnonzero((labels < 0) | (labels >= count))
    if len(wrong):
        raise DataError(f"{what}: labels must be 0 to {count - 1}, got {labels[wrong[0]]} for image {wrong[0]}")
    if count > 2 * len(labels):  # a label such as 10^9 would make as many classes
        raise DataError(f"{what}: {len(labels)} images cannot have {count} classes; labels must be 0 to classes - 1")
    return labels, tuple(map(str, range(count))) if names is None else tuple(names)
