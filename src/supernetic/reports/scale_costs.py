"""What a scaling job took, in the terms of ScaleNet's appendix G, and what other ways would have taken here.

Times are this machine's. A search for each size of its own would train a supernet and search as often as there are
searched members; compound scaling by grid trains a network of twice the base's cost for each of its cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..runs.directory import TIMINGS, read_records
from ..scaling.compound import grid_cases


def accounting(path: Path, networks: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Rows of what, seconds, and how they come about."""
    seconds: dict[str, float] = {}
    for r in read_records(path / TIMINGS):
        if "task" in r:
            seconds[r["task"]] = seconds.get(r["task"], 0.0) + r["seconds"]
    searched = [n for n in networks if n["role"] == "chosen" and n["arch"] is not None]
    joint = seconds.get("train", 0.0) + seconds.get("search", 0.0)
    rows = [
        {"what": "training and search", "seconds": joint, "how": "measured; in the paper 379 + 106 V100 days"},
        {"what": "retraining, controls included", "seconds": seconds.get("compare", 0.0), "how": "measured"},
        {"what": "a search for each size", "seconds": joint * len(searched), "how": f"{len(searched)} times the first"},
    ]
    second = next((n for n in networks if n["name"] == "s1"), None)
    if second and (once := _once(path / "networks" / str(second["key"]))):
        how = f"{grid_cases():,} cases of {once:.0f} s, a training of s1"
        rows.append({"what": "compound coefficients by grid", "seconds": grid_cases() * once, "how": how})
    return tuple(rows)


def _once(path: Path) -> float:
    """Seconds of one training."""
    return float(sum(r.get("seconds", 0.0) for r in read_records(path / TIMINGS)))
