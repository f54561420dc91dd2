"""Where the blocks of a network end: behind them all that follows reads a single map.

Paper: the primary blocks of Lee & Ham, "AZ-NAS", arXiv 2403.19232, found in any blueprint.
"""

from __future__ import annotations

from ..blueprint import Blueprint, parts

NO_BLOCK = ("norm", "linear")  # kinds with weights that are no block of their own


def block_ends(blueprint: Blueprint) -> tuple[int, ...]:
    """Return the positions of the layers that end a block, the stem first; the head is left out.

    Layers without weights are no blocks, unless they join others: a cell is one, whatever is in it.
    """
    wiring = blueprint.wiring()
    last_use = {source: i for i, sources in enumerate(wiring) for source in sources}
    body = max((i for i, layer in enumerate(blueprint) if layer.stage > 0), default=len(blueprint) - 1)
    ends, furthest = [], last_use[-1]
    for i, layer in enumerate(blueprint.layers[: body + 1]):
        counts = layer.kind == "join" or (bool(parts(layer)) and layer.kind not in NO_BLOCK)
        if counts and furthest <= i:
            ends.append(i)
        furthest = max(furthest, last_use.get(i, i))
    return tuple(ends)
