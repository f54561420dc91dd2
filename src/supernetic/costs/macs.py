"""Costs of a blueprint: multiply-accumulates, parameters, peak activation memory, and the layer table.

"FLOPs" in the papers are multiply-accumulates of convolutions, linear maps and squeeze-excite for one image; BN,
activations, pooling and additions count nothing. Parameters include BN weights and biases and the classifier's bias.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from ..blueprint import Blueprint, Layer, parts

METRICS = ("macs", "params", "peak")


@dataclass(frozen=True)
class Cost:
    """Costs of a network for one image."""

    macs: int  # multiply-accumulates
    params: int
    peak: int  # largest number of activations alive at once; times 4 for bytes


@lru_cache(maxsize=200_000)
def macs_and_params(layer: Layer) -> tuple[int, int]:
    """Return (MACs, parameters) of one layer."""
    ps = parts(layer)
    return sum(p.macs for p in ps), sum(p.params for p in ps)


def cost(blueprint: Blueprint) -> Cost:
    """Return all costs of a network."""
    macs, params = add_up(blueprint)
    return Cost(macs, params, peak(blueprint))


def add_up(layers: Iterable[Layer]) -> tuple[int, int]:
    """Return the sums of MACs and of parameters over layers."""
    macs = params = 0
    for layer in layers:
        m, p = macs_and_params(layer)
        macs += m
        params += p
    return macs, params


def activations(layers: Iterable[Layer]) -> int:
    """Return how many numbers the convolutions of all layers put out for one image."""
    return sum(p.c_out * p.resolution_out**2 for layer in layers for p in parts(layer))


def chain_peak(layers: Sequence[Layer]) -> int:
    """Return the largest number of activations alive at once in a chain: each layer reads only the one before."""
    return max((_inner_peak(layer) for layer in layers), default=0)


def peak(blueprint: Blueprint) -> int:
    """Return the largest number of activations alive at once.

    Layers run in order, and a tensor is freed as soon as no layer reads it any more.
    """
    wiring = blueprint.wiring()
    last_use: dict[int, int] = {}
    for i, sources in enumerate(wiring):
        for s in sources:
            last_use[s] = i
    size = {-1: blueprint.in_channels * blueprint.resolution**2}
    most, alive = 0, {-1}
    for i, layer in enumerate(blueprint):
        waiting = sum(size[t] for t in alive if t not in wiring[i])
        read = sum(size[t] for t in wiring[i])
        most = max(most, waiting + read - _in_size(layer) + _inner_peak(layer))
        size[i] = layer.c_out * layer.resolution_out**2
        alive = {t for t in (*alive, i) if last_use.get(t, len(blueprint)) > i}
    return most


def _in_size(layer: Layer) -> int:
    return layer.c_in * layer.resolution**2


def _inner_peak(layer: Layer) -> int:
    """Return the activations alive inside one layer: a tensor and the next, and the input while a shortcut needs it."""
    tensors = [_in_size(layer)]
    if layer.kind == "mbconv":
        if layer.expansion != 1:
            tensors.append(layer.hidden * layer.resolution**2)
        tensors.append(layer.hidden * layer.resolution_out**2)
    elif layer.kind in ("reduce", "residual"):
        tensors.append(layer.c_out * layer.resolution_out**2)
    tensors.append(layer.c_out * layer.resolution_out**2)
    waits = tensors[0] if layer.shortcut or layer.kind == "reduce" else 0
    return max(a + b + (waits if i else 0) for i, (a, b) in enumerate(pairwise(tensors)))


def layer_table(blueprint: Blueprint) -> list[dict[str, Any]]:
    """Return one record per layer: name, label, shapes, stride, MACs and parameters."""
    rows = []
    for layer in blueprint:
        macs, params = macs_and_params(layer)
        rows.append(
            {
                "name": layer.name,
                "label": layer.label,
                "in": [layer.c_in, layer.resolution, layer.resolution],
                "out": [layer.c_out, layer.resolution_out, layer.resolution_out],
                "stride": layer.stride,
                "macs": macs,
                "params": params,
            }
        )
    return rows
