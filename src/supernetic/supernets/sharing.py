"""Which layers share weights, and how large the shared tensors are: one rule for each kind of sharing.

    choice    each option of each layer has its own weights (SPOS, FairNAS, SCARLET-NAS); only a narrower input, as
              skips leave it behind, makes do with the first channels
    cell      the same for the operations of each cell; a vertex that is narrower uses the first channels
    elastic   all options of a layer are slices of the largest: first channels, centre of the kernel (AttentiveNAS)
    scaled    each option its own; widths are slices from the left or from the right (BCNet, used by ScaleNet)

Papers: AttentiveNAS, "Single-path ranking correlations", ScaleNet, SCARLET-NAS.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from ..blueprint import Layer, Part, parts
from ..errors import InputError
from ..nn.unit import WHOLE, View
from ..space import Space


def _by_option(layer: Layer) -> str:
    kind = "PRE" if layer.kind == "preconv" else ""
    return f"{layer.name}.{kind}{layer.label}" + ("" if layer.norm else "_BARE")


def _by_option_and_width(layer: Layer) -> str:
    return f"{_by_option(layer)}.C{layer.c_out}"


def _by_kind(layer: Layer) -> str:
    return f"{layer.name}.{layer.kind}"


def _by_place_and_option(layer: Layer) -> str:
    """The n-th copy of a stage's block b (`stage2.b.n`) stands where block b + n would, and shares with it."""
    stage, *numbers = layer.name.split(".")
    if layer.stage and all(n.isdecimal() for n in numbers):
        layer = layer._replace(name=f"{stage}.{sum(map(int, numbers))}")
    return _by_option(layer)


class Sharing(NamedTuple):
    """Layers with the same key share weights."""

    key: Callable[[Layer], str]
    slice_sides: tuple[str, ...] = ("left",)
    tracks: bool = True  # whether training keeps running BN statistics: they mean nothing where widths differ


SHARINGS = {
    "choice": Sharing(_by_option_and_width),
    "cell": Sharing(_by_option),
    "elastic": Sharing(_by_kind, tracks=False),
    "scaled": Sharing(_by_place_and_option, slice_sides=("left", "right"), tracks=False),
}


def sharing_of(space: Space) -> Sharing:
    """The rule that a space names."""
    if space.sharing not in SHARINGS:
        raise InputError(f"{space.name} has no supernet: its networks share nothing (sharing={space.sharing!r})")
    return SHARINGS[space.sharing]


@lru_cache(maxsize=16)
def layers_of(space: Space) -> tuple[Layer, ...]:
    """Every layer of every network of a space, or at least the largest of each."""
    listed: Any = getattr(space, "layers", None)
    if listed is None:
        raise InputError(f"{space.name} has no supernet: it is neither an automaton nor has it a method `layers`")
    return tuple(dict.fromkeys(listed()))


def shared_parts(space: Space) -> dict[str, tuple[Layer, Part]]:
    """By path `key.role`: each part that a supernet of the space must hold, at its full size, and a layer it is of."""
    rule = sharing_of(space)
    users: dict[str, list[tuple[Layer, Part]]] = {}
    for layer in layers_of(space):
        for part in parts(layer):
            users.setdefault(f"{rule.key(layer)}.{part.role}", []).append((layer, part))
    both_slices = len(rule.slice_sides) > 1
    return {path: _largest(using, both_slices) for path, using in users.items()}


def _largest(using: list[tuple[Layer, Part]], both_slices: bool) -> tuple[Layer, Part]:
    # one without a shortcut if there is any: what ends a branch only in some networks must not start at zero
    layer, part = next((u for u in using if not u[0].shortcut), using[0])
    c_in, c_out = (_room({getattr(p, c) for _, p in using}, both_slices) for c in ("c_in", "c_out"))
    kernel = max(p.kernel for _, p in using)
    groups = 1 if part.groups == 1 else c_out
    return layer, part._replace(c_in=c_in, c_out=c_out, kernel=kernel, groups=groups)


def _room(widths: set[int], both_slices: bool) -> int:
    """Channels that a tensor needs.

    With slices from both sides there are as many as the widest and the narrowest have together: then, over all widths
    between them, every channel is used equally often (BCNet).
    """
    return max(widths) + min(widths) if both_slices and len(widths) > 1 else max(widths)


def view_of(small: Part, full: Part, slice_side: str = "left") -> View:
    """What `small` uses of the shared part `full`."""
    into = WHOLE.into if full.groups > 1 else _slice(small.c_in, full.c_in, slice_side)
    margin = (full.kernel - small.kernel) // 2
    crop = slice(margin, margin + small.kernel) if margin else WHOLE.crop
    return View(_slice(small.c_out, full.c_out, slice_side), into, crop)


def _slice(width: int, full: int, slice_side: str) -> slice:
    if width == full:
        return slice(None)
    return slice(0, width) if slice_side == "left" else slice(full - width, full)
