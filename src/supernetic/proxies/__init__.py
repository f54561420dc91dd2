"""Zero-cost proxies: scores of a network before any training. More is better for each of them.

Complexity, the fourth proxy of AZ-NAS, is `live_macs`.

A proxy is a function `proxy(probe) -> float`; the `Probe` holds the untrained network and one mini-batch of images.
Names are resolved on use, so that listing them imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import UnknownNameError

if TYPE_CHECKING:
    from .probe import Probe

Proxy = Callable[["Probe"], float]

BLUEPRINT_PROXIES = ("live_macs", "live_params", "layers")  # they read the blueprint only, and run no network
PROXIES = {
    "jacov": "jacov",
    "naswot": "naswot",
    "synflow": "synflow",
    "snip": "snip",
    "grad_norm": "grad_norm",
    "zen": "zen",
    **dict.fromkeys(("expressivity", "progressivity", "trainability"), "az_nas"),
    "vkdnw": "vkdnw",
    "meco": "meco",
    "swap": "swap",
    "zico": "zico",
    **dict.fromkeys(BLUEPRINT_PROXIES, "size"),
}  # by name: the module that holds it

PREFIX = "proxy/"


def full_name(name: str) -> str:
    """The name of a proxy as a metric, from its short or its full name."""
    return PREFIX + name.removeprefix(PREFIX)


def find_proxy(name: str) -> Proxy:
    """Look a proxy up.

    Args:
        name: Its short name, such as `jacov`, or its full name as a metric.

    Returns:
        The function that scores a probe.
    """
    short = name.removeprefix(PREFIX)
    if short not in PROXIES:
        raise UnknownNameError("proxy", short, PROXIES)
    proxy: Proxy = getattr(import_module(f".{PROXIES[short]}", __name__), short)
    return proxy
