"""Data from Python: arrays and torch data sets, accepted wherever the path of a data set is.

    supernetic.search((images, labels))
    supernetic.search(torchvision.datasets.CIFAR10("data"))
    supernetic.search(Data.from_arrays(train=(x, y), test=(x_test, y_test), classes=["cat", "dog"]))

Jobs load their data in worker processes, and again when they are resumed. So data from Python is written once, under a
name made of its content, to the cache directory (`cache.directory`); from there on it is a file like any other. Nothing
is ever deleted there.
"""

from __future__ import annotations

import hashlib
import operator
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import DataError, InputError
from .arrays import Array, check_sizes, to_column, to_images, to_labels
from .cache import directory, write_npz
from .dataset import SPLITS, Dataset, Images, Labels, stored_images
from .images import to_plain
from .splits import check_classes, check_training_images

PROBED_IMAGES = 8  # that are read twice, to notice random transforms
KEY_LENGTH = 32  # hexadecimal digits of a file's name
BYTES_PER_MB = 1e6
ARRAYS = "arrays"  # the folder in the cache directory


class ImageDataset(Protocol):
    """A torch `Dataset`, or anything like it: a length, and a pair (image, label) at each index."""

    def __len__(self) -> int:
        """Number of pairs."""

    def __getitem__(self, index: int, /) -> Any:
        """The pair (image, label) at an index."""


Pair: TypeAlias = "tuple[npt.ArrayLike, npt.ArrayLike]"  # images, labels
DataLike: TypeAlias = "str | Path | Data | Dataset | Pair | ImageDataset | Mapping[str, Pair | ImageDataset]"


@dataclass(frozen=True, eq=False)
class Data:
    """Labelled images in memory, one byte per value: 50,000 colour images of 32 x 32 pixels take 154 MB.

    Splits that are given are kept; the others are cut from `train` when the data is loaded.
    """

    name: str
    images: Mapping[str, Images]  # by split, `train` at least
    labels: Mapping[str, Labels]
    classes: tuple[str, ...]
    notes: tuple[str, ...] = ()  # what was changed on the way in

    @classmethod
    def from_arrays(
        cls,
        images: npt.ArrayLike | None = None,
        labels: npt.ArrayLike | None = None,
        classes: Sequence[str] | None = None,
        *,
        train: Pair | None = None,
        valid: Pair | None = None,
        calibrate: Pair | None = None,
        test: Pair | None = None,
        name: str = "arrays",
    ) -> Data:
        """Data from arrays: either `images` and `labels`, or a pair of them for each split that there is.

        Args:
            images: N x H x W, N x H x W x C or N x C x H x W, with 1 or 3 channels; bytes, or floats in 0..1.
            labels: N class numbers 0 to classes - 1, or N class names.
            classes: names of the classes, in the order of their numbers; by default the numbers.
            train: images and labels to train on, in place of `images` and `labels`.
            valid: images and labels to score architectures with.
            calibrate: images and labels to fit temperatures to.
            test: images and labels for the final report alone.
            name: what reports call the data set.

        Returns:
            The data, as bytes.
        """
        if (train is None) == (images is None) or (images is None) != (labels is None):
            raise InputError("data from arrays is images and labels, or train=(images, labels): give one of the two")
        first = (images, labels) if train is None else train
        pairs = {"train": first, "valid": valid, "calibrate": calibrate, "test": test}
        notes: set[str] = set()
        parts = {split: _arrays(name, split, pair, notes) for split, pair in pairs.items() if pair is not None}
        return _joined(name, parts, classes, notes)

    @classmethod
    def from_dataset(
        cls,
        dataset: ImageDataset,
        *,
        valid: ImageDataset | None = None,
        calibrate: ImageDataset | None = None,
        test: ImageDataset | None = None,
        classes: Sequence[str] | None = None,
        name: str | None = None,
    ) -> Data:
        """Data from torch data sets, read once into memory.

        Images are PIL images, arrays, or tensors C x H x W in 0..1; all of one size. Random transforms are refused, as
        is normalisation: training augments and normalises by itself.

        Args:
            dataset: pairs (image, label) to train on.
            valid: pairs to score architectures with.
            calibrate: pairs to fit temperatures to.
            test: pairs for the final report alone.
            classes: names of the classes; by default those of `dataset.classes`, else the numbers.
            name: what reports call the data set; by default the class of `dataset`.

        Returns:
            The data, as bytes.
        """
        title = name or type(_innermost(dataset)).__name__.lower()
        given = {"train": dataset, "valid": valid, "calibrate": calibrate, "test": test}
        notes: set[str] = set()
        parts = {split: _items(title, split, part, notes) for split, part in given.items() if part is not None}
        return _joined(title, parts, classes if classes is not None else _class_names(dataset), notes)

    @property
    def nbytes(self) -> int:
        """Bytes of images and labels in memory."""
        return sum(x.nbytes for x in self.images.values()) + sum(y.nbytes for y in self.labels.values())

    @property
    def key(self) -> str:
        """A digest of all content; equal data has equal keys."""
        digest = hashlib.sha256()
        for label, array in self._arrays().items():
            digest.update(f"{label} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:KEY_LENGTH]

    def save(self) -> Path:
        """Write the data to the cache, unless it is there.

        Returns:
            An `.npz` file that `datasets.load` reads.
        """
        try:
            path = arrays_directory() / f"{self.key}.npz"
            if not _intact(path):
                write_npz(path, self._arrays())
        except (OSError, RuntimeError) as error:  # RuntimeError: no home directory
            why = getattr(error, "strerror", None) or error
            raise DataError(
                f"{self.name} cannot be written to the cache: {why}; set SUPERNETIC_CACHE to a directory that can"
            ) from None
        return path

    def __str__(self) -> str:
        count = sum(map(len, self.images.values()))
        height, width, channels = self.images["train"].shape[1:]
        colour = "gray" if channels == 1 else "colour"
        return (
            f"{self.name}: {count:,} images of {height}x{width}, {colour}, {len(self.classes)} classes; "
            f"{self.nbytes / BYTES_PER_MB:,.1f} MB in memory"
        )

    __repr__ = __str__

    def _arrays(self) -> dict[str, Array]:
        """What the file holds."""
        parts: dict[str, Array] = {f"x_{split}": images for split, images in self.images.items()}
        parts |= {f"y_{split}": labels for split, labels in self.labels.items()}
        return parts | {
            "classes": np.array(self.classes),
            "_name": np.array(self.name),
            "_notes": np.array(self.notes, dtype=np.str_),
        }


def source_of(data: DataLike) -> str | Path:
    """The name or path under which `load` finds data.

    Args:
        data: a name or path, which stays as it is; or data from Python: `Data`, a pair (images, labels), a torch data
            set, a loaded `Dataset`, or a mapping from splits to pairs or data sets.

    Returns:
        A name or path; data from Python is written to the cache first.
    """
    return data if isinstance(data, str | Path) else as_data(data).save()


def as_data(data: Any) -> Data:
    """Data from anything in Python that holds labelled images.

    Args:
        data: what `source_of` takes, but for names and paths.

    Returns:
        The data.
    """
    if isinstance(data, Data):
        return data
    if isinstance(data, Dataset):
        return _of_loaded(data)
    if isinstance(data, Mapping):
        return _of_splits(data)
    if isinstance(data, tuple) and len(data) == 2:
        return Data.from_arrays(*data)
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "__array__"):
        return Data.from_dataset(data)
    raise InputError(
        "data must be a name, a path, a pair (images, labels) or a torch Dataset with a length, "
        f"got {type(data).__name__}"
    )


def arrays_directory() -> Path:
    """Where data from Python is kept.

    Returns:
        `arrays` in the cache directory.
    """
    return directory() / ARRAYS


def was_written(path: Path) -> bool:
    """Whether a path is one that `source_of` gave to data from Python.

    Args:
        path: of a file, which need not exist any more.

    Returns:
        True if it has such a name.
    """
    return path.parent.name == ARRAYS and re.fullmatch(rf"[0-9a-f]{{{KEY_LENGTH}}}\.npz", path.name) is not None


def _of_splits(data: Mapping[str, Any]) -> Data:
    unknown = [str(split) for split in data if split not in SPLITS]
    if unknown or "train" not in data:
        names = ", ".join(map(str, data)) or "none"
        raise InputError(f"data by split must name train, and may name valid, calibrate and test; got {names}")
    if all(isinstance(part, tuple) for part in data.values()):
        return Data.from_arrays(**data)
    return Data.from_dataset(data["train"], **{split: part for split, part in data.items() if split != "train"})


def _of_loaded(dataset: Dataset) -> Data:
    rows = {split: rows for split, rows in dataset.splits.items() if len(rows)}
    if stored_images(dataset.images) is not None:
        raise InputError(f"{dataset.source} does not fit into memory: pass its path, not the data set that was loaded")
    images = {split: dataset.images[part] for split, part in rows.items()}
    labels = {split: dataset.labels[part] for split, part in rows.items()}
    return Data(dataset.name, images, labels, dataset.classes, dataset.notes)


def _joined(
    name: str, parts: Mapping[str, tuple[Images, Array]], classes: Sequence[str] | None, notes: set[str]
) -> Data:
    """Splits that agree in their classes and in the size of their images."""
    images = {split: part[0] for split, part in parts.items()}
    check_sizes(name, images)
    raw = np.concatenate([part[1] for part in parts.values()])
    labels, names = to_labels(name, raw, None if classes is None else list(classes))
    check_classes(name, names)
    ends = np.cumsum([len(part) for part in images.values()])[:-1]
    by_split = dict(zip(parts, np.split(labels, ends), strict=True))
    check_training_images(name, by_split["train"], names)
    return Data(name, images, by_split, names, tuple(sorted(notes)))


# --- arrays -----------------------------------------------------------------------------------------------------------


def _arrays(name: str, split: str, pair: Any, notes: set[str]) -> tuple[Images, Array]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise DataError(f"{name}: {split} must be a pair (images, labels), got {type(pair).__name__}")
    what = f"{name}: {split} images"
    images = to_images(what, _array(what, pair[0]), notes)
    labels = to_column(f"{name}: {split} labels", _array(f"{name}: {split} labels", pair[1]))
    if len(images) != len(labels):
        raise DataError(f"{name}: {split} has {len(images)} images but {len(labels)} labels")
    return images, labels


def _array(what: str, values: Any) -> Array:
    """An array of anything like one; tensors of other devices are fetched."""
    try:
        return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    except (ValueError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{what} must be one array; all images must have one size ({reason})") from None


# --- torch data sets --------------------------------------------------------------------------------------------------


def _items(name: str, split: str, dataset: ImageDataset, notes: set[str]) -> tuple[Images, Array]:
    """All images and labels of a data set."""
    what = name if split == "train" else f"{name} ({split})"
    count = _length(what, dataset)
    changes: Counter[str] = Counter()
    images: list[Images] = []
    labels: list[int | str] = []
    for i in range(count):
        image, label, change = _item(what, dataset, i)
        if i < PROBED_IMAGES and not np.array_equal(image, _item(what, dataset, i)[0]):
            raise DataError(f"{what}: image {i} differs each time it is read: leave out random transforms")
        if image.shape[:2] != (first := images[0] if images else image).shape[:2]:
            raise DataError(
                f"{what}: all images must have one size, image {i} is {_size(image)}, image 0 {_size(first)}"
            )
        images.append(image)
        labels.append(label)
        changes[change] += 1
    notes.update(f"{n} {change}" for change, n in changes.items() if change)
    return _stacked(images, notes), to_column(f"{what}: labels", np.array(labels))


def _length(what: str, dataset: ImageDataset) -> int:
    try:
        count = len(dataset)
    except TypeError:
        raise DataError(f"{what} has no length: a data set must know how many images it has") from None
    if count == 0:
        raise DataError(f"{what} holds no images")
    return count


def _item(what: str, dataset: ImageDataset, i: int) -> tuple[Images, int | str, str]:
    """An image H x W x C, its label, and what was converted."""
    try:
        item = dataset[i]
    except Exception as error:  # whatever a user's data set raises
        raise DataError(f"{what}: image {i} cannot be read: {type(error).__name__}: {error}") from error
    if not isinstance(item, tuple | list) or len(item) < 2:
        raise DataError(f"{what}: item {i} must be a pair (image, label), got {type(item).__name__}")
    image, change = _image(f"{what}: image {i}", item[0])
    return image, _label(f"{what}: image {i}", item[1]), change


def _label(what: str, label: Any) -> int | str:
    if isinstance(label, str):
        return label
    try:
        return operator.index(label)
    except TypeError:
        raise DataError(f"{what} must have a class number or name as its label, got {label!r}") from None


def _image(what: str, image: Any) -> tuple[Images, str]:
    """Bytes H x W x C, and what was converted."""
    if hasattr(image, "mode") and hasattr(image, "convert"):  # PIL, which need not be imported for this
        plain, change = to_plain(what, image)
        pixels: Images = np.asarray(plain)
        return pixels if pixels.ndim == 3 else pixels[..., None], change
    values = _array(what, image)
    if values.ndim == 3 and values.shape[0] in (1, 3) and (hasattr(image, "detach") or values.shape[2] not in (1, 3)):
        values = np.moveaxis(values, 0, 2)  # tensors have their channels first
    if values.dtype.kind == "f" and not (np.nanmin(values, initial=0) >= 0 and np.nanmax(values, initial=0) <= 1):
        low, high = float(values.min()), float(values.max())
        raise DataError(f"{what} must lie in 0..1, got {low:g} to {high:g}: leave out normalisation")
    notes: set[str] = set()
    stacked = to_images(what, values[None] if values.ndim < 4 else values, notes)
    return stacked[0], "images of floats in 0..1 stored as 256 levels" if notes else ""


def _stacked(images: list[Images], notes: set[str]) -> Images:
    """One array; gray images among colour ones become colour."""
    gray = sum(image.shape[2] == 1 for image in images)
    if 0 < gray < len(images):
        notes.add(f"{gray} gray and {len(images) - gray} colour images: all read as colour")
        images = [np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image for image in images]
    return np.stack(images)


def _size(image: Images) -> str:
    return f"{image.shape[0]}x{image.shape[1]}"


def _innermost(dataset: Any) -> Any:
    """Behind `Subset` and its like, the data set that knows the classes."""
    inner = getattr(dataset, "dataset", None)
    return dataset if inner is None or hasattr(dataset, "classes") else _innermost(inner)


def _class_names(dataset: Any) -> Sequence[str] | None:
    names = getattr(_innermost(dataset), "classes", None)
    plain = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return names if plain else None


def _intact(path: Path) -> bool:
    """Whether the file is there and undamaged; zip files have checksums."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (OSError, EOFError, zipfile.BadZipFile):
        return False
