"""Files that hold tables: npz archives read safely, and how the bundled ones store accuracies and architectures.

Bundled accuracies are whole multiples of 0.0001 points. That is finer than their resolution (one image of one seed is
.0013 points or more), and coarse enough that equal accuracies that differ in the last digit of float32 are ties again.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import UNREADABLE_NPZ, npz_arrays
from ..errors import TableError
from ..reading import open_plain, reason
from ..space import Archs, Space

STORED_PER_POINT = 10_000  # accuracies are stored as whole multiples of 1/10,000 of a point
STORED_MISSING = -1  # stored if a seed was not run
DATA_DIR = Path(__file__).with_name("data")

Arrays = dict[str, npt.NDArray[Any]]


def read_npz(path: Path) -> Arrays:
    """Read the arrays of a file; pickles are refused."""
    try:
        with open_plain(path) as file:
            return npz_arrays(file)
    except UNREADABLE_NPZ as error:
        raise TableError(f"the table {path} is not a complete npz file without pickles: {reason(error)}") from None


def read_bundled(name: str, digest: str) -> Arrays:
    """Read the arrays of a bundled file, after checking its SHA-256."""
    try:
        data = (DATA_DIR / name).read_bytes()
    except OSError as error:
        raise TableError(f"the bundled table {name} cannot be read: {error.strerror}; reinstall supernetic") from None
    actual = hashlib.sha256(data).hexdigest()
    if actual != digest:
        raise TableError(
            f"the bundled table {name} is damaged: its SHA-256 must be {digest}, got {actual}; reinstall supernetic"
        )
    return npz_arrays(io.BytesIO(data))


def stored(accuracy: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.int32]:
    """Convert accuracies in percent to the numbers that are bundled."""
    return np.rint(np.nan_to_num(accuracy.astype(np.float64) * STORED_PER_POINT, nan=STORED_MISSING)).astype(np.int32)


def restored(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """Convert bundled numbers to accuracies in percent, NaN if a seed was not run."""
    return np.where(numbers == STORED_MISSING, np.nan, numbers / STORED_PER_POINT)


def index_of(space: Space, archs: Archs) -> npt.NDArray[np.int16]:
    """Return the architectures of a small space as mixed-radix numbers."""
    index: npt.NDArray[np.int16] = np.ravel_multi_index(tuple(archs.T), tuple(space.radices)).astype(np.int16)
    return index


def archs_of(space: Space, index: npt.NDArray[np.int16]) -> Archs:
    """Return the architectures of a small space from mixed-radix numbers."""
    return np.stack(np.unravel_index(index, tuple(space.radices)), axis=1).astype(np.int8)
