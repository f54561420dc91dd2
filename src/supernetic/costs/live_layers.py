"""Live layers: those that the image reaches and whose output reaches the logits.

Paper: ours. In NAS-Bench-201 a convolution may read only zeros, or be read only by a `none`. The benchmark's MACs and
parameters include it, but no training can make it useful.
"""

from __future__ import annotations

from ..blueprint import Blueprint, Layer

FIXED_KINDS = ("zero", "join", "norm", "gap", "flatten", "linear")  # they stay, dead or not: others build on them


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


def without_dead(blueprint: Blueprint) -> Blueprint:
    """Return the network with zeros in place of every dead block.

    Networks that differ in dead blocks only become equal: of the 15,625 cells of NAS-Bench-201 9,445 are left, one of
    which is that of all networks that no image passes through.
    """
    alive = {layer.name for layer in live(blueprint)}
    return Blueprint(tuple(x if x.name in alive or x.kind in FIXED_KINDS else _zero(x) for x in blueprint))


def _zero(layer: Layer) -> Layer:
    return Layer(
        layer.name, "zero", layer.c_in, layer.c_out, layer.resolution, layer.resolution_out, stride=layer.stride,
        norm=layer.norm, inputs=layer.inputs, stage=layer.stage,
    )  # fmt: skip
