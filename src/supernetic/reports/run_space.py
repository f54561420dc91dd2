"""The space of a run, for drawings of its networks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import catalog
from ..errors import SupernetError
from ..runs.directory import SETTINGS, read_settings
from ..runs.space_record import space_of
from ..runs.trust import following
from ..space import Space


def space_in(run: Path) -> tuple[Space | None, tuple[str, ...]]:
    """Find the space of a run, if it is still what it was; a report without it has fewer drawings.

    Args:
        run: The run directory.

    Returns:
        The space, or None and why there is none.
    """
    if not (run / SETTINGS).exists():
        return None, ()
    settings = read_settings(run)
    try:
        with following(run):
            return _space(run, settings), ()
    except SupernetError as error:
        return None, (f"networks are drawn only where models are exported: {error}",)
    except (KeyError, TypeError, ValueError, OSError):
        return None, ()


def _space(run: Path, settings: Mapping[str, Any]) -> Space | None:
    record = settings["space"]
    if {"text", "declaration", "class"} & record.keys():
        return _finished(space_of(run, settings))
    space = catalog.space(record["name"])
    return space if space.fingerprint == record["fingerprint"] else None


def _finished(space: Any) -> Space:
    """Without what only supernets have: stabilisers, and cells that differ."""
    plain = {"stabiliser": "", "share_cells": True}
    changes = {k: v for k, v in plain.items() if hasattr(space, k)}
    finished: Space = dataclasses.replace(space, **changes) if changes else space
    return finished
