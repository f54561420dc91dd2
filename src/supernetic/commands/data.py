"""`data list` and `data get`: the data sets that have a name, and how to get one. (`data check`: `datasets.check`.)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..datasets.fetch import fetch_cifar10
from ..datasets.known import EMBEDDED, KNOWN, find, places
from ..errors import InputError, UnknownNameError


def list_data() -> list[dict[str, Any]]:
    """List the data sets that have a name.

    Returns:
        One record per data set: `name`, `about`, `licence`, `place` (null if there is no copy here) and `hint` (how to
        get one).
    """
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


def get_data(name: str, to: str | Path | None = None) -> Path:
    """Fetch a data set and verify its checksum.

    Args:
        name: The data set.
        to: The directory to put it in. By default the first in which data sets are looked for by name: that of
            `$SUPERNETIC_DATA`, else `data`.

    Returns:
        The file.
    """
    if name not in {k.name for k in KNOWN}:
        raise UnknownNameError("data set", name, [k.name for k in KNOWN])
    if name == EMBEDDED:
        raise InputError("the embedded data set comes with supernetic: there is nothing to fetch")
    if name != "cifar10":
        raise InputError(f"{name} cannot be fetched: only cifar10 can")
    return fetch_cifar10(Path(places()[0] if to is None else to) / name)
