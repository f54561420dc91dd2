"""Taps: the layers of a network whose maps a detector reads, one for each of the strides 8, 16 and 32."""

from __future__ import annotations

from ..blueprint import Blueprint
from ..errors import InputError

STRIDES = (8, 16, 32)
POOLING_KINDS = ("gap", "flatten", "linear")  # behind them there is no map any more


def strides_of(blueprint: Blueprint) -> list[int]:
    """By layer: pixels of the image per pixel of its output, in each direction; 0 where there is no map any more."""
    strides: list[int] = []
    for layer, sources in zip(blueprint, blueprint.wiring(), strict=True):
        before = max(1 if s < 0 else strides[s] for s in sources)
        strides.append(0 if layer.kind in POOLING_KINDS else before * layer.stride)
    return strides


def find_taps(blueprint: Blueprint) -> dict[int, str]:
    """The last layer of each stride, by stride.

    A convolution that only widens the map for the classifier is left out, if the blueprint tells it from the body.

    Args:
        blueprint: The network.

    Returns:
        Names of layers by their strides: those of 8, 16 and 32 that the network has.
    """
    strides = strides_of(blueprint)
    body = any(layer.stage for layer in blueprint)
    taps = {
        stride: layer.name
        for layer, stride in zip(blueprint, strides, strict=True)
        if stride in STRIDES and (layer.stage or not body)
    }
    if STRIDES[0] not in taps:
        most = max(strides, default=1)
        raise InputError(
            f"a backbone must have a map of stride {STRIDES[0]}, at which an image of 320 pixels has 40, got strides "
            f"up to {most}"
        )
    return dict(sorted(taps.items()))


def body_of(blueprint: Blueprint) -> Blueprint:
    """The layers up to the last tap: what a detector needs of a network."""
    last = list(find_taps(blueprint).values())[-1]
    place = next(i for i, layer in enumerate(blueprint) if layer.name == last)
    return Blueprint(blueprint.layers[: place + 1])
