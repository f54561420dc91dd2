"""Freed memory is kept for the next step, up to a limit, where the C library is glibc.

A training step frees large tensors and asks for others of the same sizes. By default glibc gives such memory back to
the system, which then has to fill every page with zeros again. This costs networks of bottlenecks a fifth of their
speed in training, and more where large images are turned to floats (docs/findings/recipes.md).

What is kept needs a limit of our own. Torch wants aligned memory, and glibc before 2.38 cannot always use a freed piece
of it for a tensor of the same size: then it takes new memory at every step, without end.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from mmap import PAGESIZE
from pathlib import Path
from typing import Any

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # names of `mallopt`, from malloc.h
KEPT_BYTES = 2**29  # that a process keeps at most beyond what it uses
GROWTH_BYTES = 2**27  # of its memory, after which it is worth while to look at what of it is in use
LARGEST_BYTES = 2**30  # of a tensor whose memory is kept; that of larger ones is given back at once
PAD_BYTES = 2**26  # by which its memory grows at least
STATM = Path("/proc/self/statm")  # pages of this process: all, resident, resident and shared with files

_looked_at = 0  # bytes of memory that this process had when it was last looked at


class _Mallinfo2(ctypes.Structure):
    """What glibc says about its memory, in bytes; from malloc.h."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


@cache
def keep_freed_memory() -> bool:
    """Let this process keep memory that it frees; once is enough. `give_back_excess` keeps that within a limit.

    Returns:
        Whether the C library does it. Others than glibc have ways of their own.
    """
    library = _glibc()
    settings = {MMAP_THRESHOLD: LARGEST_BYTES, TRIM_THRESHOLD: KEPT_BYTES, TOP_PAD: PAD_BYTES}
    return library is not None and all(library.mallopt(name, value) == 1 for name, value in settings.items())


def give_back_excess() -> bool:
    """Give freed memory back to the system if more than `KEPT_BYTES` of it is kept. To be called at every step.

    Returns:
        Whether some was given back.
    """
    global _looked_at
    library = _glibc()
    if library is None or (resident := resident_bytes()) < _looked_at + GROWTH_BYTES:
        return False
    kept = resident - used_bytes() > KEPT_BYTES
    if kept:
        library.malloc_trim(0)
    _looked_at = resident_bytes()
    return kept


def resident_bytes() -> int:
    """Memory of this process, without pages of files."""
    _, resident, shared = map(int, STATM.read_text().split()[:3])
    return (resident - shared) * PAGESIZE


def used_bytes() -> int:
    """Memory that was asked of the C library and not freed; to count it takes as long as a small training step."""
    info = _glibc().mallinfo2()
    return int(info.uordblks) + int(info.hblkhd)


@cache
def _glibc() -> Any:
    """The C library, if it has what is needed here."""
    if sys.platform != "linux" or not STATM.exists():
        return None
    library = ctypes.CDLL(None)
    if not all(hasattr(library, name) for name in ("mallopt", "mallinfo2", "malloc_trim")):  # musl, or before 2.33
        return None
    library.mallinfo2.restype = _Mallinfo2
    return library
