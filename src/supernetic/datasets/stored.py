"""Images that are not in memory: read from their files, or from the decoded copy of them, when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from .dataset import Dataset, Images, Indices, stored_images
from .decoded import Digests
from .image_files import ImageFiles, require_readable


@dataclass
class Known:
    """What was found out about stored images, for the rest of this process."""

    facts: dict[str, Any] = field(default_factory=dict)  # `survey.Facts` by what they are about
    digests: Digests | None = None  # of all images that the key stands for


@dataclass(frozen=True, eq=False)
class StoredImages:
    """Images like an array N x H x W x C of bytes, of which `images[rows]` are read.

    Nothing of what was read is kept.
    """

    files: ImageFiles
    places: Indices  # where each image stands among those that the key stands for
    key: str = ""  # of the files that were looked at together; "": nobody has looked yet
    decoded: Path | None = None  # the decoded copy of these, if there is one
    known: Known = field(default_factory=Known, repr=False)

    @classmethod
    def of_files(cls, files: ImageFiles) -> StoredImages:
        """All images of some files, not looked at yet."""
        return cls(files, np.arange(len(files)))

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Number, height, width and channels."""
        return len(self.files), self.files.resolution, self.files.resolution, 1 if self.files.gray else 3

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        """Bytes."""
        return np.dtype(np.uint8)

    @property
    def ndim(self) -> int:
        """Four."""
        return len(self.shape)

    @property
    def image_bytes(self) -> int:
        """Bytes of one image."""
        return int(np.prod(self.shape[1:]))

    @property
    def nbytes(self) -> int:
        """Bytes that all images would take in memory."""
        return len(self) * self.image_bytes

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[Images]:
        return (self[np.array([row])][0] for row in range(len(self)))

    def __getitem__(self, rows: Indices) -> Images:
        """Some images, in memory."""
        if self.decoded is not None:
            return read_copy(self.decoded, self.places[rows], self.shape)
        found = self.files.decode(rows)
        require_readable(found.faults)
        return found.images

    def take(self, rows: Indices) -> StoredImages:
        """Some images, still where they are."""
        return replace(self, files=self.files.take(rows), places=self.places[rows])


def is_outline(dataset: Dataset) -> bool:
    """Whether nobody has looked at the images of a data set yet: it came from `outline`.

    Args:
        dataset: any data set.

    Returns:
        True if its images are files of which only headers were read.
    """
    stored = stored_images(dataset.images)
    return stored is not None and not stored.key


def read_copy(copy: Path, places: Indices, shape: tuple[int, int, int, int]) -> Images:
    """Images from a decoded copy.

    It is mapped anew for each call: pages that were read would otherwise count as this process's memory for good.

    Args:
        copy: the file.
        places: which images.
        shape: of all of them; the number does not matter.

    Returns:
        The images, in memory.
    """
    try:
        mapped = np.memmap(copy, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:  # ValueError: an empty file
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"the decoded images {copy} cannot be read: {reason}; start again to decode them") from None
    count = len(mapped) // int(np.prod(shape[1:]))
    if len(places) and int(places.max()) >= count:
        raise DataError(f"the decoded images {copy} are cut off: {count:,} images; start again to decode them")
    every = mapped[: count * int(np.prod(shape[1:]))].reshape(count, *shape[1:])
    images: Images = np.asarray(every[places])
    return images
