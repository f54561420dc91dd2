"""Files that hold tables: npz archives read safely, and how the bundled ones store accuracies and architectures.

Bundled accuracies are whole multiples of 0.0001 points: finer than any of them can be resolved (one image of one seed
is .0013 points or more), and coarse enough that equal accuracies which differ in float32's last digit are ties again.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import TableError
from ..space import Archs, Space

SCALE = 10_000  # stored accuracies per point
MISSING = -1  # stored where a seed was not run
DATA = Path(__file__).with_name("data")

Arrays = dict[str, npt.NDArray[Any]]


def read_npz(path: Path) -> Arrays:
    """The arrays of a file; no pickles are loaded."""
    try:
        return _arrays(path.read_bytes())
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise TableError(f"the table {path} is not a complete npz file without pickles: {error}") from None


def read_bundled(name: str, digest: str) -> Arrays:
    """A bundled file, after its SHA-256 was checked."""
    try:
        data = (DATA / name).read_bytes()
    except OSError as error:
        raise TableError(f"the bundled table {name} cannot be read: {error.strerror}; reinstall supernetic") from None
    found = hashlib.sha256(data).hexdigest()
    if found != digest:
        raise TableError(
            f"the bundled table {name} is damaged: its SHA-256 must be {digest}, got {found}; reinstall supernetic"
        )
    return _arrays(data)


def _arrays(data: bytes) -> Arrays:
    arrays = np.load(io.BytesIO(data), allow_pickle=False)
    if not isinstance(arrays, np.lib.npyio.NpzFile):
        raise ValueError("it holds one bare array")
    with arrays:
        return {name: arrays[name] for name in arrays.files}


def stored(accuracy: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.int32]:
    """Accuracies in percent as they are bundled."""
    return np.rint(np.nan_to_num(accuracy.astype(np.float64) * SCALE, nan=MISSING)).astype(np.int32)


def restored(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """Bundled accuracies in percent, NaN where a seed was not run."""
    return np.where(numbers == MISSING, np.nan, numbers / SCALE)


def index_of(space: Space, archs: Archs) -> npt.NDArray[np.int16]:
    """Architectures of a small space as mixed-radix numbers."""
    index: npt.NDArray[np.int16] = np.ravel_multi_index(tuple(archs.T), tuple(space.radices)).astype(np.int16)
    return index


def archs_of(space: Space, index: npt.NDArray[np.int16]) -> Archs:
    """The architectures behind mixed-radix numbers."""
    return np.stack(np.unravel_index(index, tuple(space.radices)), axis=1).astype(np.int8)
