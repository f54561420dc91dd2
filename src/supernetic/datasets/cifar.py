"""The official CIFAR-10 files, python or binary version, as the archive or as an extracted folder.

The python version is pickled. It is read by an unpickler that knows three names, each replaced by a few lines of our
own, so that a forged file can build nothing but lists, dictionaries, numbers and strings.
"""

from __future__ import annotations

import io
import pickle
import tarfile
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from .dataset import Images, Labels
from .known import CIFAR10_CLASSES
from .sheets import NPM_IMAGES, NPM_LABELS, read_npm, whole
from .source import Source, from_arrays

PYTHON_FILES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
BINARY_FILES = [f"{name}.bin" for name in PYTHON_FILES]
IMAGE_BYTES = 3 * 32 * 32
LARGEST_FILE_BYTES = 64_000_000  # the official files have 31 million

Batch = tuple[Images, Labels]


def read(path: Path) -> Source | None:
    """CIFAR-10 from an archive or a directory.

    Args:
        path: where it lies.

    Returns:
        The data; None if there is no CIFAR-10 in it.
    """
    members = {*PYTHON_FILES, *BINARY_FILES, *NPM_IMAGES, *NPM_LABELS}
    files = _from_archive(path, members) if path.is_file() else _from_folder(path, members)
    if NPM_IMAGES[0] in files:
        return read_npm(path, files)
    for names, parse in ((PYTHON_FILES, from_python), (BINARY_FILES, from_binary)):
        if names[0] in files:
            missing = [n for n in names if n not in files]
            if missing:
                raise DataError(f"{path} lacks {missing[0]}")
            return _join(path, [parse(f"{path}: {n}", files[n]) for n in names])
    return None


def from_binary(what: str, data: bytes) -> Batch:
    """A batch of the binary version: records of a label and 3 x 32 x 32 bytes.

    Args:
        what: the file, for messages.
        data: its content.

    Returns:
        Images and labels.
    """
    if not data or len(data) % (IMAGE_BYTES + 1):
        raise DataError(f"{what} must hold records of {IMAGE_BYTES + 1} bytes, got {len(data)} bytes")
    records = np.frombuffer(data, dtype=np.uint8).reshape(-1, IMAGE_BYTES + 1)
    return _planes(records[:, 1:]), records[:, 0].astype(np.int64)


def from_python(what: str, data: bytes) -> Batch:
    """A batch of the python version: a pickled dictionary of `data` and `labels`.

    Args:
        what: the file, for messages.
        data: its content.

    Returns:
        Images and labels.
    """
    try:
        batch = _Unpickler(io.BytesIO(data), encoding="bytes").load()
        pixels, labels = batch[b"data"].array(), np.array(batch[b"labels"], dtype=np.int64)
        if pixels.shape != (len(labels), IMAGE_BYTES) or labels.ndim != 1:
            raise ValueError(f"{len(labels)} labels for data of shape {pixels.shape}")
    except Exception as error:  # a damaged pickle raises anything
        raise DataError(f"{what} is not a batch of CIFAR-10: {str(error) or type(error).__name__}") from None
    return _planes(pixels), labels


def _planes(rows: Any) -> Images:
    return np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _join(path: Path, batches: list[Batch]) -> Source:
    images = np.concatenate([b[0] for b in batches])
    labels = {"train": np.concatenate([b[1] for b in batches[:-1]]), "test": batches[-1][1]}
    return whole("cifar10", str(path), from_arrays(images), labels, CIFAR10_CLASSES)


class _Array:
    """What stands in for a pickled array: its parts, unpacked by us and only if they are plain bytes."""

    def __setstate__(self, state: tuple[int, tuple[int, ...], str, bool, bytes]) -> None:
        _, self.shape, self.dtype, self.fortran, self.data = state

    def array(self) -> Any:
        if self.dtype not in ("u1", b"u1") or self.fortran:
            raise ValueError("its data are no bytes in C order")
        return np.frombuffer(self.data, dtype=np.uint8).reshape(self.shape)


class _Type(str):
    """What stands in for a pickled dtype: its name."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        """Byte order and flags say nothing about bytes."""


def _reconstruct(*_: object) -> _Array:
    return _Array()


def _dtype(name: str | bytes, *_: object) -> _Type:
    return _Type(name if isinstance(name, str) else name.decode())


class _Unpickler(pickle.Unpickler):
    NAMES: dict[tuple[str, str], Callable[..., object]] = {  # noqa: RUF012
        ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _dtype,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.NAMES:
            raise ValueError(f"it asks for {module}.{name}, which is refused")
        return self.NAMES[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise ValueError("it refers to things outside")


def _from_folder(path: Path, members: Collection[str]) -> dict[str, bytes]:
    inner = [path, *(path / n for n in ("cifar-10-batches-py", "cifar-10-batches-bin", "package"))]
    for folder in inner:
        paths = {n: folder / n for n in members if (folder / n).is_file()}
        if any(n in paths for n in (PYTHON_FILES[0], BINARY_FILES[0], NPM_IMAGES[0])):
            for p in paths.values():
                _check_size(p, p.stat().st_size)
            return {n: p.read_bytes() for n, p in paths.items()}
    return {}


def _from_archive(path: Path, members: Collection[str]) -> dict[str, bytes]:
    """Read into memory, so that no path inside an archive can lead anywhere."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                name = member.name.rsplit("/", 1)[-1]
                if member.isfile() and name in members:
                    _check_size(path / name, member.size)
                    content = archive.extractfile(member)
                    files[name] = content.read() if content else b""
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a complete tar archive: {error}") from None
    return files


def _check_size(path: Path, size: int) -> None:
    if size > LARGEST_FILE_BYTES:
        raise DataError(f"{path} has {size:,} bytes: no file of CIFAR-10 has more than {LARGEST_FILE_BYTES:,}")
