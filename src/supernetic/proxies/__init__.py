"""Training-free voters: what a network says for itself before any training. More is better for every vote.

Names are resolved on use, so that listing them imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import UnknownNameError

if TYPE_CHECKING:
    from .probe import Probe

Voter = Callable[["Probe"], float]

COSTLESS = ("live_macs", "live_params", "layers")  # read the blueprint alone
PROXIES = {
    "jacov": "jacov",
    "naswot": "naswot",
    "synflow": "synflow",
    "snip": "snip",
    "grad_norm": "grad_norm",
    "zen": "zen",
    **dict.fromkeys(COSTLESS, "size"),
}  # by name: the file


PREFIX = "proxy/"


def full_name(name: str) -> str:
    """A vote's name as a metric."""
    return PREFIX + name.removeprefix(PREFIX)


def voter(name: str) -> Voter:
    """The voter of that name, full or short."""
    short = name.removeprefix(PREFIX)
    if short not in PROXIES:
        raise UnknownNameError("vote", short, PROXIES)
    found: Voter = getattr(import_module(f".{PROXIES[short]}", __name__), short)
    return found
