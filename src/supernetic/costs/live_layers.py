"""Live layers: those that the image reaches and whose output reaches the logits.

Paper: ours. In NAS-Bench-201 a convolution may read only zeros, or be read only by a `none`. The benchmark's MACs and
parameters include it, but no training can make it useful.
"""

from __future__ import annotations

from ..blueprint import Blueprint, Layer


def live(blueprint: Blueprint) -> tuple[Layer, ...]:
    """Return the live layers in order; none at all if the logits do not depend on the image."""
    wiring = blueprint.wiring()
    varies = {-1: True}  # by layer: whether its output depends on the image
    for i, layer in enumerate(blueprint):
        varies[i] = layer.kind != "zero" and any(varies[s] for s in wiring[i])
    reached = {len(blueprint) - 1}
    for i in reversed(range(len(blueprint))):
        if i in reached and varies[i]:
            reached.update(wiring[i])
    return tuple(layer for i, layer in enumerate(blueprint) if i in reached and varies[i])
