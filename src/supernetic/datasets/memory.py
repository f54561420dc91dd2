"""How many bytes of decoded images a process keeps in memory; data sets of more stay in their files.

The limit is a share of the free memory, because every process of a job keeps its own copy. `SUPERNETIC_IMAGE_MEMORY`
sets another one, such as `4G`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from ..capacity import free_memory as free_memory
from ..capacity import show_bytes as show_bytes
from ..errors import InputError

LIMIT_VARIABLE = "SUPERNETIC_IMAGE_MEMORY"
PARENT_VARIABLE = "SUPERNETIC_IMAGE_MEMORY_OF"  # PID:BYTES, by which worker processes decide as their parent did
SHARE = 8  # of the free memory, one of so many parts: a job has a process for each processor
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class MemoryLimit:
    """Bytes of images that are kept in memory, and where the number comes from."""

    size: int
    reason: str


def memory_limit() -> MemoryLimit:
    """The limit of this process: the user's, else that of the process that started it, else a share of what is free.

    Returns:
        The limit.
    """
    chosen = os.environ.get(LIMIT_VARIABLE, "")
    if chosen:
        return MemoryLimit(parse_size(LIMIT_VARIABLE, chosen), f"set by {LIMIT_VARIABLE}")
    parent, _, inherited = os.environ.get(PARENT_VARIABLE, "").partition(":")
    if parent == str(os.getppid()) and inherited.isdecimal():
        return MemoryLimit(int(inherited), "of the process that started this one")
    free = free_memory()
    limit = free // SHARE
    os.environ[PARENT_VARIABLE] = f"{os.getpid()}:{limit}"
    return MemoryLimit(limit, f"1/{SHARE} of {show_bytes(free)} of free memory")


def parse_size(name: str, text: str) -> int:
    """Bytes from text such as `500M` or `4 GB`.

    Args:
        name: what is set, for the message.
        text: a number with a unit.

    Returns:
        Bytes.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", text, re.IGNORECASE)
    if found is None:
        raise InputError(f"{name} must be a number of bytes such as 500M or 4G, got {text!r}")
    return int(float(found[1]) * UNITS[found[2].upper()])
