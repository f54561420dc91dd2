"""A pretrained network as the largest of an elastic supernet, its channels ordered by importance.

Paper: Cai et al., "Once-for-all", arXiv 1908.09791, section 3.3: a narrower block keeps the hidden channels whose
weights in the layer that reads them have the largest L1 norms.
Differences: channels are ordered once, before the training, and not again at each stage of a progressive shrinking.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import InputError
from ..families.efficientnet_lite import PRETRAINED, SCALES
from ..nn.network import Network
from ..nn.unit import Unit
from ..space import Space
from ..spaces.lite import Lite
from ..supernets.supernet import Supernet


def space_text(name: str, resolution: int) -> str:
    """The space of all networks inside of a pretrained one, for colour images of at most this resolution."""
    width, depth = SCALES[PRETRAINED.index(name)]
    return f"lite:width={width},depth={depth},resolution={resolution},in_channels=3"


def require_inside(space: Space, name: str) -> Lite:
    """The space, if its largest network is the pretrained one; others are refused."""
    width, depth = SCALES[PRETRAINED.index(name)]
    if not isinstance(space, Lite) or (space.width, space.depth, space.in_channels) != (width, depth, 3):
        raise InputError(f"{name} is the largest network of lite:width={width},depth={depth}, not of {space}")
    return space


@torch.no_grad()
def start_from(supernet: Supernet, network: Network) -> None:
    """Give a supernet the weights of a network, as its largest one.

    Hidden channels of the blocks are reordered, which changes nothing about what the largest network computes. A
    classifier for other classes stays as it is.

    Args:
        supernet: Of `Lite`. BN statistics are the network's; they hold for the largest network alone.
        network: EfficientNet-Lite.
    """
    space = supernet.space
    assert isinstance(space, Lite)
    for layer in supernet.blueprint(space.largest):
        theirs = network.units(layer)
        if layer.kind == "linear" and theirs["linear"].op.weight.shape[0] != layer.c_out:  # type: ignore[union-attr]
            continue
        order = _by_importance(theirs["project"]) if layer.kind == "mbconv" and layer.expansion > 1 else None
        for role, (unit, view) in supernet.units(layer).items():
            assert view is None  # the largest network uses every weight
            unit.load_state_dict(_reordered(theirs[role], role, order))


def _by_importance(project: Unit) -> Tensor:
    """Hidden channels, the most important first."""
    assert project.op is not None
    return project.op.weight.abs().sum((0, 2, 3)).argsort(descending=True, stable=True)


def _reordered(unit: Unit, role: str, order: Tensor | None) -> dict[str, Tensor]:
    """The tensors of a unit, with the hidden channels of its block in this order."""
    tensors = unit.state_dict()
    if order is None:
        return tensors
    if role == "project":
        return {**tensors, "op.weight": tensors["op.weight"][:, order]}
    return {name: t[order] if t.ndim else t for name, t in tensors.items()}
