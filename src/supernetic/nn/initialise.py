"""Initial weights, the same for networks and supernets."""

from __future__ import annotations

from math import sqrt

import torch
from torch import nn

from ..errors import UnknownNameError
from .unit import Unit

STABILISER_STARTS = ("random", "identity")


def initialise(
    model: nn.Module, *, seed: int | None = None, zero_residual: bool = False, stabiliser: str = "random"
) -> None:
    """Set all weights: convolutions normal by fan-out, hidden linear maps by fan-in, classifiers small normal.

    BN is neutral, biases are zero.

    Args:
        model: A network or a supernet.
        seed: Of the weights; torch's own generator by default.
        zero_residual: Whether the last BN of each block with a shortcut starts at zero, so that the block starts as
            its shortcut.
        stabiliser: How stabilisers start: `random`, or `identity`, as the skip that each replaces.
    """
    if stabiliser not in STABILISER_STARTS:
        raise UnknownNameError("initialisation of stabilisers", stabiliser, STABILISER_STARTS)
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    for unit in model.modules():
        if isinstance(unit, Unit):
            _initialise(unit, generator, zero_residual, stabiliser)


@torch.no_grad()
def _initialise(unit: Unit, generator: torch.Generator | None, zero_residual: bool, stabiliser: str) -> None:
    op, norm = unit.op, unit.norm
    if isinstance(op, nn.Linear):
        op.weight.normal_(0, sqrt(2 / op.in_features) if unit.hidden else 0.01, generator=generator)
    elif op is not None:
        fan_out = op.weight[0, 0].numel() * op.out_channels // op.groups
        op.weight.normal_(0, sqrt(2 / fan_out), generator=generator)
        if unit.stabiliser and stabiliser == "identity":
            nn.init.dirac_(op.weight)
    if op is not None and op.bias is not None:
        op.bias.zero_()
    if norm is not None:
        norm.reset_parameters()
        if norm.weight is not None and zero_residual and unit.residual:
            norm.weight.zero_()
