"""The space of AttentiveNAS in the terms of its own code; used in both environments, so it imports nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

STAGES = 7
WIDTHS = STAGES + 2  # of the stem and the head too


def their_settings(options: Sequence[int]) -> dict[str, Any]:
    """What `set_active_subnet` takes, from the option taken at each of our choices, in their order."""
    values = list(options)
    at = 1 + WIDTHS
    return {
        "resolution": values[0],
        "width": values[1:at],
        "depth": values[at : at + STAGES],
        "kernel_size": values[at + STAGES : at + 2 * STAGES],
        "expand_ratio": values[at + 2 * STAGES :],
    }
