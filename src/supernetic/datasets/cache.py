"""Decoded images kept between runs: purely a matter of speed, so any trouble with the cache means decoding again.

The place is `$SUPERNETIC_CACHE`, or `supernetic` in the user's cache directory.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .dataset import Images

CACHE_VARIABLE = "SUPERNETIC_IMAGE_CACHE"  # on, off, or where decoded copies of image files are kept: see `decoded`


def directory() -> Path:
    """Where decoded images are kept.

    Returns:
        `$SUPERNETIC_CACHE`, or `supernetic` in the user's cache directory.
    """
    chosen = os.environ.get("SUPERNETIC_CACHE")
    if chosen:
        return Path(chosen)
    usual = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")  # the latter on Windows
    return Path(usual or Path.home() / ".cache") / "supernetic"


def cached(files: Iterable[bytes], decode: Callable[[], Images]) -> Images:
    """The images that `decode` makes of these file contents, from the cache if they are there and intact.

    Args:
        files: contents of the encoded files.
        decode: makes the images.

    Returns:
        The images.
    """
    digest = hashlib.sha256()
    for data in files:
        digest.update(hashlib.sha256(data).digest())
    try:
        path = directory() / f"{digest.hexdigest()[:32]}.npz"
    except RuntimeError:  # no home directory
        return decode()
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:  # zip files have checksums
            images: Images = stored["images"]
        if images.dtype == np.uint8 and images.ndim == 4:
            return images
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        pass
    images = decode()
    with suppress(OSError):
        write_npz(path, {"images": images})
    return images


def write_npz(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write an `.npz` file beside its place, then put it there, so that nobody ever sees half of it.

    Args:
        path: the file; its directory is made.
        arrays: arrays by name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
