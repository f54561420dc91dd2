"""What a power cut may lose: nothing that was put in place, at most the last lines of a `.jsonl` file.

A rename is on disk only when its directory is, and the file's content only when the file is. So a file is put in place
in this order: all records that were appended before it are brought to disk, then the file, then the rename, then its
directory (and, once, the directories that hold that one). Lines of `.jsonl` files are frequent and wait for the next
file that is put in place: what a later step builds on is on disk before the step's own file is.

Pages can be made again from the other files and are not waited for.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_appended: set[str] = set()  # full paths of files that this process added to since they were brought to disk
_known: set[str] = set()  # directories whose own entries are on disk


def note_appended(path: Path) -> None:
    """Remember that a file has new lines that are not on disk yet."""
    _appended.add(os.path.abspath(path))


def sync_appended() -> None:
    """Bring all lines that this process appended to disk."""
    while _appended:
        path = _appended.pop()
        with suppress(FileNotFoundError):  # a run that was deleted meanwhile
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            sync_directory(Path(path).parent, again=False)


def sync_directory(directory: Path, *, again: bool = True) -> None:
    """Bring the entries of a directory to disk; the first time, also its own entry and those above it.

    Args:
        directory: The directory.
        again: Whether it is done although this process has done it before; not needed where names do not change.
    """
    place = os.path.abspath(directory)
    if place in _known and not again:
        return
    new = [place]
    while new[-1] not in _known and (above := os.path.dirname(new[-1])) != new[-1]:
        new.append(above)
    for path in new:
        _sync(path)
    _known.update(new)


def _sync(directory: str) -> None:
    with suppress(OSError):  # not ours to read, or of a system that cannot do it, as Windows
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_files(directory: Path) -> None:
    """Bring the files of a directory to disk, and their names."""
    for file in directory.iterdir():
        with open(file, "rb") as opened:
            os.fsync(opened.fileno())
    _sync(str(directory))
