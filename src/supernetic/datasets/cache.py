"""Decoded images kept between runs: purely a matter of speed, so any trouble with the cache means decoding again.

The place is `$SUPERNETIC_CACHE`, or `supernetic` in the user's cache directory.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from .dataset import Images


def directory() -> Path:
    """Where decoded images are kept."""
    chosen = os.environ.get("SUPERNETIC_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "supernetic"


def cached(files: Iterable[bytes], decode: Callable[[], Images]) -> Images:
    """The images that `decode` makes of these file contents, from the cache if they are there and intact."""
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
    _keep(path, images)
    return images


def _keep(path: Path, images: Images) -> None:
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            np.savez(file, images=images)
        os.replace(temporary, path)
    except OSError:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
