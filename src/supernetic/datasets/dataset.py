"""A data set: images, in memory or stored, labels and four disjoint splits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError

if TYPE_CHECKING:
    from .stored import StoredImages
    from .survey import Facts

Images = npt.NDArray[np.uint8]  # N x H x W x C, C 1 or 3
Labels = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]

# for weights and batch statistics; for scores of architectures; for temperatures; for reports and nothing else
SPLITS = ("train", "valid", "calibrate", "test")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images and labels of a classification task; every image belongs to exactly one split."""

    name: str
    images: Images  # or `StoredImages`, which are like an array of which rows are read when they are asked for
    labels: Labels
    classes: tuple[str, ...]
    splits: Mapping[str, Indices]  # rows of `images`, ascending
    rows: Indices  # where each image stands in the source, so that splits can be found again there
    source: str
    licence: str = ""
    files: tuple[str, ...] = ()  # of the images, where each has one
    notes: tuple[str, ...] = ()  # what was changed on the way in
    normalisation: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # in place of the images' own moments

    def __post_init__(self) -> None:
        n = len(self.images)
        if self.images.dtype != np.uint8 or self.images.ndim != 4 or self.images.shape[3] not in (1, 3):
            raise DataError(
                f"{self.source}: images must be uint8, N x H x W x 1 or 3, "
                f"got {self.images.dtype} {'x'.join(map(str, self.images.shape))}"
            )
        if len(self.labels) != n or len(self.rows) != n:
            raise DataError(f"{self.source}: {n} images need as many labels, got {len(self.labels)}")
        if tuple(self.splits) != SPLITS:
            raise DataError(f"{self.source}: the splits must be {', '.join(SPLITS)}, got {', '.join(self.splits)}")
        taken = np.concatenate(list(self.splits.values()))
        if len(taken) != n or not np.array_equal(np.sort(taken), np.arange(n)):
            raise DataError(f"{self.source}: every image must be in exactly one split")

    @property
    def resolution(self) -> int:
        """Height and width of the images, in pixels."""
        return int(self.images.shape[1])

    @property
    def channels(self) -> int:
        """1 for gray, 3 for colour."""
        return int(self.images.shape[3])

    def counts(self, split: str) -> list[int]:
        """Images of a split, by class.

        Args:
            split: one of `SPLITS`.

        Returns:
            Counts in the order of the classes.
        """
        return [int(n) for n in np.bincount(self.labels[self.splits[split]], minlength=len(self.classes))]

    @cached_property
    def moments(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """What images are normalised by: per channel, mean and standard deviation of pixels in 0..1.

        Over the training split, unless a normalisation was given.
        """
        if self.normalisation is not None:
            return self.normalisation
        means, deviations = [], []
        values = np.arange(256) / 255
        for channel in range(self.channels):
            counts = self._histogram(channel)
            mean = float(counts @ values / counts.sum())
            deviation = float(np.sqrt(counts @ (values - mean) ** 2 / counts.sum()))
            means.append(mean)
            deviations.append(max(deviation, 1 / 255))  # a channel without contrast stays finite
        return tuple(means), tuple(deviations)

    def _histogram(self, channel: int) -> npt.NDArray[np.int64]:
        """How often each byte occurs in a channel of the training images."""
        if stored_images(self.images) is not None:
            found: npt.NDArray[np.int64] = self._facts.histogram[channel]
            return found
        counts = np.zeros(256, dtype=np.int64)
        for chunk in np.array_split(self.splits["train"], max(1, len(self.splits["train"]) // 4096)):
            counts += np.bincount(self.images[chunk, :, :, channel].ravel(), minlength=256)
        return counts

    @cached_property
    def _facts(self) -> Facts:
        """Of stored images: what one pass over all of them finds, which was mostly made before."""
        from .survey import Task, facts_of

        stored = stored_images(self.images)
        assert stored is not None
        return facts_of(stored, Task(self.classes, self.labels, self.splits))

    @property
    def mean(self) -> tuple[float, ...]:
        """Mean per channel over the training split, for pixels in 0..1."""
        return self.moments[0]

    @property
    def std(self) -> tuple[float, ...]:
        """Standard deviation per channel over the training split, for pixels in 0..1."""
        return self.moments[1]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of pixels, labels, class names and splits; equal for equal content, wherever it was read from.

        A given normalisation is part of it.
        """
        if self.normalisation is not None:
            plain = replace(self, normalisation=None).fingerprint
            return hashlib.sha256(f"{plain} {self.normalisation}".encode()).hexdigest()
        if stored_images(self.images) is not None:
            return self._facts.fingerprint
        digest = fingerprint_before_pixels(self.images.shape, self.classes)
        digest.update(np.ascontiguousarray(self.images).data)
        return fingerprint_after_pixels(digest, self.labels, self.splits)

    def summary(self) -> dict[str, Any]:
        """What a run's settings should hold: a few lines of plain data."""
        return {
            "name": self.name,
            "source": self.source,
            "licence": self.licence,
            "resolution": self.resolution,
            "channels": self.channels,
            "classes": list(self.classes),
            "images": {name: len(rows) for name, rows in self.splits.items()},
            "mean": list(self.mean),
            "std": list(self.std),
            "fingerprint": self.fingerprint,
        }

    def split_record(self) -> dict[str, Any]:
        """The splits as rows of the source, for a run's `splits.json`."""
        splits = {name: self.rows[rows].tolist() for name, rows in self.splits.items()}
        return {"name": self.name, "source": self.source, "fingerprint": self.fingerprint, "splits": splits}


def stored_images(images: Any) -> StoredImages | None:
    """Images that are not in memory, None if they are.

    Args:
        images: of a data set.

    Returns:
        The same, or None.
    """
    return None if isinstance(images, np.ndarray) else images


def fingerprint_before_pixels(shape: tuple[int, ...], classes: Sequence[str]) -> Any:
    """The hash of a fingerprint, ready for the pixels of all images, one after the other.

    Args:
        shape: of all images together.
        classes: names of the classes.

    Returns:
        An object of hashlib.
    """
    digest = hashlib.sha256(repr([shape, tuple(classes)]).encode())
    digest.update(shape[0].to_bytes(8, "little"))
    return digest


def fingerprint_after_pixels(digest: Any, labels: Labels, splits: Mapping[str, Indices]) -> str:
    """The fingerprint, from a hash that the pixels of all images went into.

    Args:
        digest: what `fingerprint_before_pixels` gave.
        labels: of all images.
        splits: rows by split.

    Returns:
        64 hexadecimal digits.
    """
    arrays: list[npt.NDArray[Any]] = [labels, *splits.values()]
    for array in arrays:
        digest.update(len(array).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(array).data)
    return str(digest.hexdigest())
