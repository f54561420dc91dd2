"""Images that stay in their files: where they are, what they become, and decoding some of them."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from weakref import ref

import numpy as np
import numpy.typing as npt
import PIL

from ..errors import DataError
from .dataset import Images, Indices
from .images import header_of, open_image, square

SHOWN_FAULTS = 3  # unreadable files that an error names
KEY_LENGTH = 32  # hexadecimal digits
Size = tuple[int, int]  # width and height in pixels

# The images that were decoded last, as long as somebody keeps them: a job and the trainings that it runs in its own
# process share them. By key, so that files that were changed are read again.
_decoded_last: dict[str, tuple[ref[Images], list[str]]] = {}


class Decoded(NamedTuple):
    """Some images, and what was found on the way. Those that cannot be read are black."""

    images: Images
    faults: list[str]  # a line for each that cannot be read
    changes: Counter[str]  # what was converted
    sizes: Counter[Size]
    modes: Counter[str]  # L or RGB


@dataclass(frozen=True)
class ImageFiles:
    """Image files, and the size and colours that they are brought to when they are read."""

    root: str
    names: tuple[str, ...]  # paths below the root
    resolution: int
    gray: bool
    by_headers: bool = False  # whether only headers told that they are gray, or colour

    def __len__(self) -> int:
        return len(self.names)

    def path(self, row: int) -> Path:
        """Of one image."""
        return Path(self.root, self.names[row])

    def take(self, rows: Indices) -> ImageFiles:
        """Some of the files, in this order."""
        return replace(self, names=tuple(self.names[row] for row in rows))

    def key(self) -> str:
        """A digest of everything that the pixels depend on: files by name, size and time, and what they become.

        A file that is changed, added or removed gives another key. So does another Pillow, whose decoders may differ.
        """
        head = [os.path.abspath(self.root), self.resolution, self.gray, PIL.__version__, len(self.names)]
        digest = hashlib.sha256(repr(head).encode())
        for row, name in enumerate(self.names):
            try:
                found = os.stat(os.path.join(self.root, name))
            except OSError as error:
                raise DataError(f"{self.path(row)} cannot be read: {error.strerror}") from None
            digest.update(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:KEY_LENGTH]

    def decode(self, rows: Sequence[int] | Indices) -> Decoded:
        """Read some of the files.

        Args:
            rows: which.

        Returns:
            The images as they are trained with, and what was found.
        """
        shape = len(rows), self.resolution, self.resolution, 1 if self.gray else 3
        found = Decoded(np.zeros(shape, dtype=np.uint8), [], Counter(), Counter(), Counter())
        for i, row in enumerate(rows):
            try:
                image, change = open_image(self.path(row))
            except DataError as error:
                found.faults.append(str(error))
                continue
            found.changes[change] += 1
            found.sizes[image.size] += 1
            found.modes[image.mode] += 1
            small = square(image, self.resolution).convert("L" if self.gray else "RGB")
            found.images[i] = np.asarray(small).reshape(shape[1:])
        return found


def require_readable(faults: Sequence[str]) -> None:
    """Refuse images that cannot be read, in one line that names the first of them.

    Args:
        faults: a line for each.
    """
    if faults:
        more = f" (and {len(faults) - SHOWN_FAULTS} more)" if len(faults) > SHOWN_FAULTS else ""
        raise DataError("; ".join(faults[:SHOWN_FAULTS]) + more)


def read_all(files: ImageFiles) -> tuple[Images, list[str]]:
    """All images, in memory. What headers told about colours is corrected, if they were wrong.

    Args:
        files: where they are.

    Returns:
        The images, and notes on what had to be changed.
    """
    key = files.key()
    if key in _decoded_last and (alive := _decoded_last[key][0]()) is not None:
        return alive, _decoded_last[key][1]
    found = files.decode(range(len(files)))
    require_readable(found.faults)
    if files.by_headers and files.gray != (set(found.modes) == {"L"}):
        return read_all(replace(files, gray=not files.gray, by_headers=False))
    notes = notes_of(found.changes, found.sizes, found.modes, files.resolution, files.gray)
    _decoded_last.clear()
    _decoded_last[key] = ref(found.images), notes
    return found.images, notes


def notes_of(
    changes: Counter[str], sizes: Counter[Size], modes: Counter[str], resolution: int, gray: bool
) -> list[str]:
    """What had to be changed, one line for each kind.

    Args:
        changes: conversions by their description.
        sizes: of the images as they were.
        modes: L or RGB, of the images as they were.
        resolution: of the images as they are now.
        gray: whether they are gray now.

    Returns:
        The lines.
    """
    notes = [f"{n} {change}" for change, n in sorted(changes.items()) if change]
    if set(sizes) != {(resolution, resolution)}:
        notes.append(f"{_range(sizes)}: cut to the centre and resized to {resolution}x{resolution}")
    if len(modes) > 1:
        both = f"{modes['L']} gray and {modes['RGB']} colour images"
        notes.append(f"{both}: all read as {'gray' if gray else 'colour'}")
    return notes


def usual_shape(root: str, names: Sequence[str]) -> tuple[int, bool]:
    """What images are by default, from their headers: the median of the shorter sides, and gray if all of them are.

    Args:
        root: their folder.
        names: paths below it.

    Returns:
        The resolution, and whether they are gray.
    """
    sides = np.ones(len(names), dtype=np.int64)
    known = np.zeros(len(names), dtype=bool)
    gray = True
    for i, name in enumerate(names):
        header = header_of(os.path.join(root, name))
        if header is not None:
            known[i], sides[i] = True, min(header[0])
            gray = gray and header[1]
    found: npt.NDArray[np.int64] = sides[known] if known.any() else np.ones(1, dtype=np.int64)
    return int(np.median(found)), gray


def _range(sizes: Counter[Size]) -> str:
    low, high = min(sizes, key=lambda s: s[0] * s[1]), max(sizes, key=lambda s: s[0] * s[1])
    if len(sizes) == 1:
        return f"images are {low[1]}x{low[0]}"
    return f"images of {len(sizes)} sizes, {low[1]}x{low[0]} to {high[1]}x{high[0]}"
