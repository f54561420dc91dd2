"""How much memory there is, and refusals that say so before it runs out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .errors import LOWER, InputError

WEIGHT_BYTES = 4  # of a number
ALWAYS_FITS = 10**8  # bytes for which memory is not looked at
SMALLER = "choose a smaller space or narrower networks"
CGROUP = Path("/sys/fs/cgroup")  # where a container's own limit stands
STATM = Path("/proc/self/statm")
STATUS = Path("/proc/self/status")
LIMITS = Path("/proc/self/limits")
SHORT_SHARE = 0.9  # of the addresses that `ulimit -v` allows: who had more of them was probably refused some


def free_memory() -> int:
    """Bytes that can be had without swapping; no more than a container, or `ulimit -v`, allows."""
    import psutil  # type: ignore[import-untyped]  # here: it needs modules of its system

    free = int(psutil.virtual_memory().available)
    try:
        allowed = int((CGROUP / "memory.max").read_text("ascii"))
        free = max(0, min(free, allowed - int((CGROUP / "memory.current").read_text("ascii"))))
    except (OSError, ValueError):  # no container, or "max": no limit
        pass
    return min(free, _free_addresses())


def _free_addresses() -> int:
    """Bytes of addresses that `ulimit -v` leaves, where the system tells."""
    try:
        limit = _address_limit()
        used = int(STATM.read_text("ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return sys.maxsize
    return sys.maxsize if limit is None else max(0, limit - used)


def memory_in_use() -> str:
    """The memory of this process and what `ulimit -v` allows, in words; nothing where the system does not tell.

    It is asked for when memory has run out: no module of another package is imported.
    """
    try:
        addresses, resident = (int(n) * os.sysconf("SC_PAGE_SIZE") for n in STATM.read_text("ascii").split()[:2])
        limit = _address_limit()
    except (OSError, ValueError, MemoryError):
        return ""
    if limit is None:
        return f"this process has {show_bytes(resident)}"
    return f"this process has {show_bytes(addresses)} of addresses, ulimit -v allows {show_bytes(limit)}"


def memory_was_short() -> bool:
    """Whether this process once had nearly all addresses that `ulimit -v` allows.

    Then an error may come from memory that ran out, whatever it says: packages catch errors, and tell others.
    """
    try:
        limit = _address_limit()
        peak = next(line for line in STATUS.read_text("ascii").splitlines() if line.startswith("VmPeak:"))
        return limit is not None and 1024 * int(peak.split()[1]) > SHORT_SHARE * limit
    except (OSError, ValueError, StopIteration, MemoryError):
        return False


def _address_limit() -> int | None:
    """Bytes of addresses that `ulimit -v` allows, where the system tells; None without a limit."""
    lines = LIMITS.read_text("ascii").splitlines()
    words = next((line.split() for line in lines if line.startswith("Max address space")), [])
    return int(words[3]) if words and words[3] != "unlimited" else None


def require_memory(what: str, size: float, lower: str = LOWER) -> None:
    """Refuse work that does not fit into the memory that is free.

    Args:
        what: What needs it, in words.
        size: Bytes.
        lower: What the user can do about it.
    """
    free = free_memory()
    if size > free:
        raise InputError(f"{what} needs {show_bytes(size)} of memory, {show_bytes(free)} are free: {lower}")


def require_weights(what: str, parameters: int) -> None:
    """Refuse a network whose weights alone do not fit into memory; training takes several times as much."""
    if WEIGHT_BYTES * parameters > ALWAYS_FITS:
        require_memory(f"{what}, of {parameters:,} parameters,", WEIGHT_BYTES * parameters, SMALLER)


def show_bytes(size: float) -> str:
    """Bytes for people, such as `1.5 GB`."""
    for unit, letters in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:,.1f} {letters}"
    return f"{size / 1000:,.1f} kB"
