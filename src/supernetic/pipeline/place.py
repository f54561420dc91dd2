"""Where a job's run goes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

from ..run import Run, open_run, same_settings


def place(out: str | Path | None, name: str, settings: Mapping[str, Any]) -> Run:
    """The named directory; by default today's, with a number if there is a run of other settings."""
    if out is not None:
        return open_run(out, settings)
    base = f"runs/{date.today():%Y-%m-%d}-{name}"
    names = (Path(base if i == 1 else f"{base}-{i}") for i in count(1))
    return open_run(next(p for p in names if not p.exists() or same_settings(p, settings)), settings)
