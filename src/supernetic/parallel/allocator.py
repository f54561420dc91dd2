"""Freed memory is kept for the next step, where the C library is glibc.

A training step frees large tensors and asks for others of the same sizes. By default glibc gives such memory back to
the system, which then has to fill every page with zeros again. This costs networks of bottlenecks a fifth of their
speed in training, and more where large images are turned to floats (docs/findings/recipes.md).
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # names of `mallopt`, from malloc.h
KEPT_BYTES = 2**30  # that a process keeps at most beyond what it uses; larger tensors are still given back at once
PAD_BYTES = 2**26  # by which its memory grows at least


@cache
def keep_freed_memory() -> bool:
    """Let this process keep memory that it frees; once is enough.

    Returns:
        Whether the C library does it. Others than glibc have ways of their own.
    """
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # musl
        return False
    settings = {MMAP_THRESHOLD: KEPT_BYTES, TRIM_THRESHOLD: KEPT_BYTES, TOP_PAD: PAD_BYTES}
    return all(mallopt(name, value) == 1 for name, value in settings.items())
