"""The catalogue: spaces, searchers and benchmark tables by name.

Entries are import strings that are resolved on use, so listing names imports nothing heavy. A space may have settings:
`nasbench201:cells=2,channels=32,without=none+avg_pool_3x3`. A path to a `.toml` or `.py` file is a declared space.
"""

from __future__ import annotations

import dataclasses
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import InputError, UnknownNameError
from .settings import with_settings
from .space import Space

if TYPE_CHECKING:
    from .benchmarks.table import Table
    from .searchers import Searcher

SPACES = {
    "nasbench101": "supernetic.spaces.nasbench101:NASBench101",
    "nasbench101-chain": "supernetic.spaces.nasbench101:NASBench101Chain",
    "nasbench201": "supernetic.spaces.nasbench201:NASBench201",
    "transnas-micro": "supernetic.spaces.transnas:TransNASMicro",
    "macro": "supernetic.spaces.macro:Macro",
    "scarlet-s1": "supernetic.spaces.scarlet:ScarletS1",
    "scarlet-s2": "supernetic.spaces.scarlet:ScarletS2",
    "attentive": "supernetic.spaces.attentive:Attentive",
    "scalenet": "supernetic.spaces.scalenet:ScaleNet",
    "scalenet-base": "supernetic.spaces.scalenet:ScaleNetBase",
    "efficientnet": "supernetic.spaces.efficientnet:EfficientNet",
    "lite": "supernetic.spaces.lite:Lite",
    "mixed": "supernetic.spaces.mixed:Mixed",
    "deep-narrow": "supernetic.spaces.declared:deep_narrow",
    "shallow-wide": "supernetic.spaces.declared:shallow_wide",
}

MOST = {  # of settings of spaces: beyond them no network could be computed, and costs would not fit into 64 bits
    "width": 100, "resolution": 4_096, "resolutions": 4_096, "channels": 65_536, "head": 65_536, "cells": 100,
    "classes": 65_536, "in_channels": 65_536,
}  # fmt: skip

SEARCHERS = {
    "random": "supernetic.searchers.random:RandomSearch",
    "grid": "supernetic.searchers.grid:GridSearch",
    "local": "supernetic.searchers.local:LocalSearch",
    "evolution": "supernetic.searchers.evolution:RegularisedEvolution",
    "spos": "supernetic.searchers.evolution:SPOSEvolution",
    "binned": "supernetic.searchers.binned:BinnedEvolution",
    "nsga2": "supernetic.searchers.nsga2:NSGA2",
    "thompson": "supernetic.searchers.thompson:Thompson",
    "mcea": "supernetic.searchers.mcea:MCEA",
}

TABLES = {
    "nasbench201": "supernetic.benchmarks.nasbench201:load",
    "macro": "supernetic.benchmarks.macro:load",
    "transnas-micro": "supernetic.benchmarks.transnas:load",
}
SUFFIXES = (".csv", ".npz", ".tfrecord")  # of files that hold a table


def load(kind: str, names: dict[str, str], name: str) -> Any:
    """Import the object of a catalogue entry.

    Args:
        kind: What the entry is, for the error message: space, searcher, table, ...
        names: The entries: import strings `module:attribute` by name.
        name: Which of them.

    Returns:
        The object.
    """
    if name not in names:
        raise UnknownNameError(kind, name, names)
    module, _, attribute = names[name].partition(":")
    return getattr(import_module(module), attribute)


def space(text: str | Space) -> Space:
    """Find a space.

    Args:
        text: A name, a name with settings (`nasbench201:cells=2`), a `.toml` or `.py` file that declares a space, or a
            space, which is returned as it is.

    Returns:
        The space.
    """
    if isinstance(text, Space):
        return text
    if not text:
        raise InputError(f"say which space: one of {', '.join(SPACES)}")
    if text.endswith(".py"):
        from .runs.trust import read_code
        from .spaces.declared import run_python

        return run_python(read_code(text), Path(text))
    if text.endswith(".toml"):
        from .spaces.declared import read

        return read(Path(text))
    name, _, settings = text.partition(":")
    make = load("space", SPACES, name)
    space_with_settings: Space = with_settings(make(), name, settings)
    for key, most in MOST.items():
        given = getattr(space_with_settings, key, 0)
        numbers = [n for n in (given if isinstance(given, tuple) else (given,)) if isinstance(n, int | float)]
        if settings and max(numbers, default=0) > most:
            raise InputError(f"{name}: {key} must be at most {most:,}, got {given}")
    return space_with_settings


def searcher(text: str | Searcher) -> Searcher:
    """Find a searcher.

    Args:
        text: A name, a name with settings (`local:improve=best`), or a searcher, which is returned as it is.

    Returns:
        The searcher.
    """
    if not isinstance(text, str):
        return text
    name, _, settings = text.partition(":")
    made: Searcher = with_settings(load("searcher", SEARCHERS, name)(), name, settings)
    return made


def named_settings(text: str) -> tuple[str, ...]:
    """Return the names of the settings that stand behind a name: `rounds` of `mcea:rounds=4`."""
    _, _, settings = text.partition(":")
    return tuple(item.partition("=")[0] for item in settings.split(",") if item)


def table(text: str | Path, of: Space | None = None) -> Table:
    """Find a benchmark table.

    Args:
        text: The name of a bundled table, or a file of measurements.
        of: The space of its architectures; a file needs it.

    Returns:
        The table.
    """
    from .benchmarks.own import read

    if str(text) not in TABLES:
        if of is None and not str(text).endswith(SUFFIXES):
            raise UnknownNameError("table", str(text), TABLES)
        if of is None:
            raise InputError(f"the table {str(text)!r} is a file: say which space its architectures belong to")
        return read(text, of)
    bundled: Table = load("table", TABLES, str(text))()
    if of is None:
        return bundled
    bundled = bundled.restrict(getattr(of, "without", ()))
    if bundled.space.choices != of.choices:
        raise InputError(f"the table {text} holds architectures of {bundled.space}, not of {of}")
    return dataclasses.replace(bundled, space=of)
