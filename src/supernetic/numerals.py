"""Numbers from text, read alike everywhere: digits of ASCII, finite, no larger than a machine counts."""

from __future__ import annotations

import re
from math import isfinite

LARGEST = 2**63 - 1  # a whole number that files and arrays can hold
WHOLE = re.compile(r"[-+]?[0-9]+")
REAL = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def whole_number(text: str) -> int:
    """A whole number; a `ValueError` says what is wrong with any other text."""
    if not WHOLE.fullmatch(text.strip()):
        raise ValueError("must be a whole number")
    value = int(text) if len(text) < 30 else LARGEST + 1
    if abs(value) > LARGEST:
        raise ValueError(f"must be at most {LARGEST}")
    return value


def real_number(text: str) -> float:
    """A finite number; a `ValueError` says what is wrong with any other text."""
    if not REAL.fullmatch(text.strip()):
        raise ValueError("must be a number")
    value = float(text)
    if not isfinite(value):
        raise ValueError("must be finite")
    return value
