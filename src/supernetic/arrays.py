"""Types of the numpy arrays that pass between modules, and reading them from `.npz` files that others made.

They sit at the bottom of the package, so that every room can name them without importing another one.
"""

from __future__ import annotations

import zipfile
import zlib
from math import prod
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from .capacity import free_memory, show_bytes

NPY_MAGIC = b"\x93NUMPY"
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNREADABLE_NPZ = (ValueError, EOFError, OSError, KeyError, NotImplementedError, zipfile.BadZipFile, zlib.error)


def npz_arrays(file: IO[bytes]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an open `.npz` file. Pickles are refused, and arrays for which there is no memory.

    Args:
        file: The file, or bytes.

    Returns:
        Arrays by name. Errors are those of `UNREADABLE_NPZ`.
    """
    arrays = np.load(file, allow_pickle=False)
    if not isinstance(arrays, np.lib.npyio.NpzFile):
        raise ValueError("it holds one bare array")
    with arrays:
        size, free = sum(_promised(arrays, name) for name in arrays.files), free_memory()
        if size > free:
            raise ValueError(f"its arrays take {show_bytes(size)}, {show_bytes(free)} of memory are free")
        return {name: arrays[name] for name in arrays.files}


def _promised(arrays: Any, name: str) -> int:
    """Bytes that the header of an array promises; one that promises other than the archive holds is refused."""
    member = next((n for n in (f"{name}.npy", name) if n in arrays.zip.namelist()), name)
    with arrays.zip.open(member) as opened:
        if opened.read(len(NPY_MAGIC)) != NPY_MAGIC:
            return 0  # no array: numpy gives its bytes
        version = tuple(opened.read(2))
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(opened)
        if min(shape, default=0) < 0:
            raise ValueError(f"{name} has a negative size, {shape}")
        size = prod(shape) * dtype.itemsize
        there = arrays.zip.getinfo(member).file_size - opened.tell()
        if size > there and not dtype.hasobject:
            raise ValueError(f"{name} promises {show_bytes(size)} and holds {show_bytes(there)}")
        return size
