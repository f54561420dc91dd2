"""What a scaling job took, in the terms of ScaleNet's appendix G, and what other methods would have taken here.

Times are this machine's. A search for each size of its own would train a supernet and search as often as there are
searched members; compound scaling by grid trains a network of twice the base's cost for each of its cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..runs.directory import read_records
from ..runs.files import NETWORK_TRAININGS, TIMINGS
from ..runs.records import NetworkRecord
from .compound import grid_cases


def accounting(path: Path, networks: Sequence[NetworkRecord]) -> tuple[dict[str, Any], ...]:
    """Add up the time of a scaling job.

    Args:
        path: Its run directory.
        networks: The records of `networks.json`.

    Returns:
        Rows of `what`, `seconds`, and `how` they come about.
    """
    seconds: dict[str, float] = {}
    for r in read_records(path / TIMINGS):
        if "task" in r:
            seconds[r["task"]] = seconds.get(r["task"], 0.0) + r["seconds"]
    searched = [n for n in networks if n.chosen and n.arch is not None]
    joint = seconds.get("train", 0.0) + seconds.get("search", 0.0)
    rows = [
        {"what": "training and search", "seconds": joint, "how": "measured; in ScaleNet 379 + 106 V100 days"},
        {"what": "retraining, controls included", "seconds": seconds.get("compare", 0.0), "how": "measured"},
        {"what": "a search for each size", "seconds": joint * len(searched), "how": f"{len(searched)} times the first"},
    ]
    second = next((n for n in networks if n.name == "s1"), None)
    if second and (training_s := _training_seconds(path / NETWORK_TRAININGS / str(second.key))):
        how = f"{grid_cases():,} cases of {training_s:.0f} s, a training of s1"
        rows.append({"what": "compound coefficients by grid", "seconds": grid_cases() * training_s, "how": how})
    return tuple(rows)


def _training_seconds(path: Path) -> float:
    """The time of one training."""
    return float(sum(r.get("seconds", 0.0) for r in read_records(path / TIMINGS)))
