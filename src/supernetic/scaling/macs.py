"""MACs of base networks under strategies, without building the scaled blueprints.

A layer costs the same wherever it follows a map of the same shape, so each is scaled once and cached. This makes grids
over strategies cheap for every chain of blocks, not only for spaces that are automata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ..blueprint import Blueprint, Layer
from ..costs.macs import add_up
from ..costs.table import Ints
from ..errors import InputError
from ..space import Archs, Space
from ..strategy import Scaling, Squeeze, is_block, scale, squeeze_of


def scaled_macs(blueprints: Iterable[Blueprint], scalings: Iterable[Scaling]) -> Ints:
    """Return the MACs of each network (row) under each scaling (column)."""
    columns = list(scalings)
    rows = [_row(blueprint, columns) for blueprint in blueprints]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(columns))


def blueprints_of(space: Space, archs: Archs) -> list[Blueprint]:
    """Return the network of each row of `archs`."""
    return [space.blueprint(tuple(a)) for a in archs.tolist()]


def require_chains(space: Space) -> None:
    """Raise an error if the networks of a space cannot be scaled, or differ in resolution, which a strategy sets."""
    networks = blueprints_of(space, space.sample(np.random.default_rng(0), 20))
    try:
        scale(networks[0], Scaling())
    except InputError as e:
        raise InputError(f"{space.name} cannot be scaled: {e}") from None
    resolutions = sorted({network.resolution for network in networks})
    if len(resolutions) > 1:
        rule = f"its networks must all have the same resolution, got {', '.join(map(str, resolutions))}"
        raise InputError(f"{space.name} cannot be scaled: {rule}")


def _row(blueprint: Blueprint, scalings: list[Scaling]) -> list[int]:
    squeeze = squeeze_of(blueprint)
    blocks = Counter(layer.stage for layer in blueprint if is_block(layer))
    macs: dict[Hashable, int] = {}  # many depth factors give the same network
    row = []
    for scaling in scalings:
        repeats = tuple(scaling.repeats(n) for n in blocks.values())
        network = (_without_depth(scaling), scaling.pixels(blueprint.resolution), repeats)
        if network not in macs:
            macs[network] = _macs(blueprint, squeeze, dict(zip(blocks, repeats, strict=True)), *network[:2])
        row.append(macs[network])
    return row


def _macs(
    blueprint: Blueprint, squeeze: Squeeze, repeats: Mapping[int, tuple[int, ...]], scaling: Scaling, resolution: int
) -> int:
    waiting = {stage: iter(r) for stage, r in repeats.items()}
    state, total = (blueprint.in_channels, resolution), 0
    for layer in blueprint:
        macs, state = _fed(scaling, state, layer, next(waiting[layer.stage]) if is_block(layer) else 1, squeeze)
        total += macs
    return total


def _without_depth(scaling: Scaling) -> Scaling:
    """Return the part of a scaling that a layer's cost depends on, given its input and its number of copies."""
    return replace(scaling, depth=1.0, resolution=None)


@lru_cache(maxsize=1_000_000)
def _fed(
    scaling: Scaling, state: tuple[int, int], layer: Layer, repeats: int, squeeze: Squeeze
) -> tuple[int, tuple[int, int]]:
    layers, after = scaling.feed(state, layer, repeats, squeeze)
    return add_up(layers)[0], after
