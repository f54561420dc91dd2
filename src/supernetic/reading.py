"""Reading files that others may have made: plain files alone, always UTF-8, JSON and TOML that may hold anything.

A pipe would be waited for and a device read without end: both are refused before a byte is read. Everything that goes
wrong here is an `OSError` or a `ValueError` whose text says what; callers say which file.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from errno import EINVAL, EISDIR
from pathlib import Path
from typing import Any

NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for its other end
BINARY = getattr(os, "O_BINARY", 0)  # Windows would change line ends
MOST_TOML_BYTES = 2**24  # of a file that people write


def read_bytes(path: str | Path, most: int | None = None) -> bytes:
    """The content of a plain file.

    Args:
        path: The file; a link to one is followed.
        most: Bytes from which on it is refused; None if any number will do.

    Returns:
        Its bytes.
    """
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if most is not None and size > most:
            raise OSError(EINVAL, f"it has {size:,} bytes, more than {most:,}", str(path))
        return bytes(file.read())


def open_plain(path: str | Path) -> Any:
    """An open plain file, to be read in binary; anything else is refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_WAITING | BINARY)
    except ValueError:
        raise OSError(EINVAL, "no file can have this name", str(path)) from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(EISDIR, "it is a directory", str(path))
        if not stat.S_ISREG(mode):
            raise OSError(EINVAL, "it is no plain file, but a pipe, a device or the like", str(path))
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def require_plain(path: str | Path) -> None:
    """Refuse what is no plain file, for readers that open a path by themselves."""
    open_plain(path).close()


def read_text(path: str | Path, most: int | None = None) -> str:
    """The content of a plain file as text: UTF-8, whatever the locale says."""
    return read_bytes(path, most).decode("utf-8")


def read_json(path: str | Path) -> Any:
    """The content of a JSON file."""
    return parse_json(read_bytes(path))


def parse_json(text: str | bytes) -> Any:
    """What a JSON text says."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_toml(path: str | Path) -> dict[str, Any]:
    """The content of a TOML file."""
    return parse_toml(read_text(path, MOST_TOML_BYTES))


def parse_toml(text: str) -> dict[str, Any]:
    """What a TOML text says."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def exists(path: str | Path) -> bool:
    """Whether there is something at a path; there is nothing under a name that no file can have."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def reason(error: Exception) -> str:
    """Why something could not be read, in one line without the file's name."""
    return " ".join(str(getattr(error, "strerror", None) or error).split())
