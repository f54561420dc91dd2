"""`spaces`: the spaces that can be searched."""

from __future__ import annotations

from math import log10
from typing import Any

from .. import catalog


def list_spaces() -> list[dict[str, Any]]:
    """List the search spaces.

    Returns:
        One record per space: `name`, `size` (the number of architectures), `size_log10`, `choices` (their number),
        `paper` and `named` (names of architectures that the paper printed).
    """
    records = []
    for name in catalog.SPACES:
        space = catalog.space(name)
        records.append(
            {
                "name": name,
                "size": space.size,
                "size_log10": round(log10(space.size), 3),
                "choices": len(space.choices),
                "paper": space.paper,
                "named": [*space.named, *space.upscaled],
            }
        )
    return records
