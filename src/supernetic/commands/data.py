"""`data list`, `data get`, `data check`: what there is, how to get it, and whether it is fit to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..datasets.fetch import fetch_cifar10
from ..datasets.known import EMBEDDED, KNOWN, find
from ..errors import InputError, UnknownNameError


def list_data() -> list[dict[str, Any]]:
    """One record per named data set: what it is, its licence, and where it lies (null if it has to be fetched)."""
    records = []
    for known in KNOWN:
        place = "comes with supernetic" if known.name == EMBEDDED else find(known)
        records.append(
            {
                "name": known.name,
                "about": known.about,
                "licence": known.licence,
                "place": None if place is None else str(place),
                "hint": known.hint,
            }
        )
    return records


def get_data(name: str, to: str | Path = "data") -> Path:
    """Fetch a data set into the directory `to`, where `load` finds it by name; returns the file."""
    if name not in {k.name for k in KNOWN}:
        raise UnknownNameError("data set", name, [k.name for k in KNOWN])
    if name == EMBEDDED:
        raise InputError("the embedded data set comes with supernetic: there is nothing to fetch")
    if name != "cifar10":
        raise InputError(f"{name} cannot be fetched: only cifar10 can")
    return fetch_cifar10(Path(to) / name)
