"""EMNIST from files that the user has: MATLAB files, or the gzipped files of MNIST's format.

Paper: Cohen, Afshar, Tapson and van Schaik, "EMNIST: an extension of MNIST to handwritten letters", 2017, arXiv
1702.05373. Both kinds of files hold images with rows and columns exchanged; here they stand upright.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from .dataset import Images, Labels
from .known import Known, locate
from .sheets import whole
from .source import Source, from_arrays

NAME = "emnist"  # and the beginning of the names of its parts
DIGITS, CAPITALS = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MERGED = f"{DIGITS}{CAPITALS}abdefghnqrt"  # small letters that look like their capitals are one class with them
CLASSES = {
    "balanced": MERGED,
    "bymerge": MERGED,
    "byclass": f"{DIGITS}{CAPITALS}{CAPITALS.lower()}",
    "letters": CAPITALS,
    "digits": DIGITS,
    "mnist": DIGITS,
}
FIRST_LABEL = {"letters": 1}  # of all others it is 0
IMAGES_MAGIC, LABELS_MAGIC = 0x803, 0x801  # bytes in three dimensions, and in one
RESOLUTION_PIXELS = 28
SPLIT_NAMES = ("train", "test")
MOST_BYTES = 10**9  # of a file, unpacked; the largest has 547 million
INNER_FOLDERS = ("", "gzip", "matlab", "EMNIST/raw")


def part_of(name: str) -> str:
    """The part of EMNIST that a name stands for: `emnist` is the balanced one.

    Args:
        name: `emnist`, or `emnist-` and a part.

    Returns:
        A key of `CLASSES`.
    """
    return name.partition("-")[2] or "balanced"


def read(known: Known) -> Source:
    """A part of EMNIST, from where a copy lies.

    Args:
        known: which part.

    Returns:
        Labels, and pixels on demand.
    """
    path, part = locate(known), part_of(known.name)
    folders = [path / inner for inner in INNER_FOLDERS]
    matlab = next((f for d in folders if (f := d / f"emnist-{part}.mat").is_file()), None)
    parts = _from_matlab(matlab) if matlab else _from_idx(folders, part)
    if parts is None:
        raise DataError(f"{path} has no emnist-{part}.mat and no emnist-{part}-train-images-idx3-ubyte: {known.hint}")
    first = FIRST_LABEL.get(part, 0)
    images = np.concatenate([pixels for pixels, _ in parts.values()])
    labels = {split: values.astype(np.int64) - first for split, (_, values) in parts.items()}
    return whole(known.name, str(path), from_arrays(images), labels, tuple(CLASSES[part]), known.licence)


def _from_idx(folders: list[Path], part: str) -> dict[str, tuple[Images, Labels]] | None:
    parts = {}
    for split in SPLIT_NAMES:
        pair: list[Any] = []
        for kind, magic in (("images-idx3", IMAGES_MAGIC), ("labels-idx1", LABELS_MAGIC)):
            name = f"emnist-{part}-{split}-{kind}-ubyte"
            file = next((f for d in folders for f in (d / f"{name}.gz", d / name) if f.is_file()), None)
            if file is None:
                if split == "train" and not pair:
                    return None
                raise DataError(f"{folders[0]} lacks {name}.gz")
            pair.append(read_idx(file, magic))
        if len(pair[0]) != len(pair[1]):
            raise DataError(f"{folders[0]}: {split} has {len(pair[0])} images but {len(pair[1])} labels")
        parts[split] = pair[0].swapaxes(1, 2)[..., None], pair[1]
    return parts


def read_idx(path: Path, magic: int) -> Any:
    """A file of MNIST's format, gzipped or not.

    Args:
        path: the file.
        magic: the number that it must begin with.

    Returns:
        Bytes in as many dimensions as the number says.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            return _array(path, file, magic)
    except (OSError, EOFError, zlib.error, struct.error) as error:
        raise DataError(f"{path} cannot be read: {str(error) or type(error).__name__}") from None


def _array(path: Path, file: Any, magic: int) -> Any:
    (found,) = struct.unpack(">I", file.read(4))
    if found != magic:
        raise DataError(f"{path} must begin with the number {magic:#x}, got {found:#x}")
    shape = struct.unpack(f">{magic & 0xFF}I", file.read(4 * (magic & 0xFF)))
    size = int(np.prod([int(n) for n in shape], dtype=object))
    if not 0 < size <= MOST_BYTES or shape[1:] not in ((), (RESOLUTION_PIXELS, RESOLUTION_PIXELS)):
        raise DataError(f"{path} must hold images of 28x28 or labels, got {'x'.join(map(str, shape))}")
    data = file.read(size)
    if len(data) != size:
        raise DataError(f"{path} is cut off: {size:,} bytes are promised, {len(data):,} are there")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def _from_matlab(path: Path) -> dict[str, tuple[Images, Labels]]:
    from scipy.io import loadmat

    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"{path} has {path.stat().st_size:,} bytes: no file of EMNIST has more than {MOST_BYTES:,}")
    try:
        held = loadmat(path, simplify_cells=True, variable_names=["dataset"])["dataset"]
        parts = {split: (np.asarray(held[split]["images"]), np.ravel(held[split]["labels"])) for split in SPLIT_NAMES}
    except Exception as error:  # a damaged file raises anything
        raise DataError(f"{path} is no file of EMNIST: {str(error) or type(error).__name__}") from None
    for split, (pixels, labels) in parts.items():
        if pixels.dtype != np.uint8 or pixels.shape != (len(labels), RESOLUTION_PIXELS**2):
            raise DataError(f"{path}: {split} must hold a row of 784 bytes for each label, got {pixels.shape}")
    shape = -1, RESOLUTION_PIXELS, RESOLUTION_PIXELS, 1
    return {
        split: (np.ascontiguousarray(pixels.reshape(shape).swapaxes(1, 2)), labels.astype(np.int64))
        for split, (pixels, labels) in parts.items()
    }
