"""Initial weights, the same for networks and supernets."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

import torch
import torch.nn.functional as F
from torch import nn

from ..errors import UnknownNameError
from .unit import Unit

STABILISER_STARTS = ("random", "identity")
INITIAL_WEIGHTS = ("he", "torch")
ALIKE = "alike"  # of a supernet: as `he`, with `zero_residual` and `start_alike`


def initialise(
    model: nn.Module,
    *,
    seed: int | None = None,
    zero_residual: bool = False,
    stabiliser: str = "random",
    weights: str = "he",
) -> None:
    """Set all weights; BN is neutral.

    `he`: convolutions normal by fan-out, hidden linear maps by fan-in, classifiers small normal; biases are zero.
    `torch`: what PyTorch does by default, uniform within 1 / sqrt(fan-in), biases too.

    Args:
        model: A network or a supernet.
        seed: Of the weights; torch's own generator by default.
        zero_residual: Whether the last BN of each block with a shortcut starts at zero, so that the block starts as
            its shortcut.
        stabiliser: How stabilisers start: `random`, or `identity`, as the skip that each replaces.
        weights: How convolutions and linear maps start: `he` or `torch`.
    """
    if weights not in INITIAL_WEIGHTS:
        raise UnknownNameError("initial weights", weights, INITIAL_WEIGHTS)
    if stabiliser not in STABILISER_STARTS:
        raise UnknownNameError("initialisation of stabilisers", stabiliser, STABILISER_STARTS)
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    for unit in model.modules():
        if isinstance(unit, Unit):
            _initialise(unit, generator, zero_residual, stabiliser, weights)


@torch.no_grad()
def start_alike(units: Iterable[tuple[str, Unit]]) -> None:
    """Give units of the same name the weights of the one with the smallest kernel, with zeros around them.

    With a choice of kernels in each of many layers, every path would begin as another random function. Stem and head
    serve all of them, and learn little until they agree. Blocks that start as their shortcuts do the same for depth.
    """
    groups: dict[str, list[nn.Conv2d]] = {}
    for name, unit in units:
        if isinstance(unit.op, nn.Conv2d):
            groups.setdefault(name, []).append(unit.op)
    for group in groups.values():
        first = min(group, key=lambda op: op.kernel_size[0])
        for op in group:
            if op.weight.shape[:2] != first.weight.shape[:2]:
                continue
            border = (op.kernel_size[0] - first.kernel_size[0]) // 2
            op.weight.copy_(F.pad(first.weight, [border] * 4))
            if op.bias is not None and first.bias is not None:
                op.bias.copy_(first.bias)


@torch.no_grad()
def _initialise(
    unit: Unit, generator: torch.Generator | None, zero_residual: bool, stabiliser: str, weights: str
) -> None:
    op, norm = unit.op, unit.norm
    if op is not None:
        (_as_torch if weights == "torch" else _as_he)(unit, op, generator)
        if unit.stabiliser and stabiliser == "identity":
            nn.init.dirac_(op.weight)
    if norm is not None:
        norm.reset_parameters()
        if norm.weight is not None and zero_residual and unit.residual:
            norm.weight.zero_()


def _as_he(unit: Unit, op: nn.Conv2d | nn.Linear, generator: torch.Generator | None) -> None:
    if isinstance(op, nn.Linear):
        op.weight.normal_(0, sqrt(2 / op.in_features) if unit.hidden else 0.01, generator=generator)
    else:
        fan_out = op.weight[0, 0].numel() * op.out_channels // op.groups
        op.weight.normal_(0, sqrt(2 / fan_out), generator=generator)
    if op.bias is not None:
        op.bias.zero_()


def _as_torch(unit: Unit, op: nn.Conv2d | nn.Linear, generator: torch.Generator | None) -> None:
    """As `reset_parameters` of `nn.Conv2d` and `nn.Linear`, which take no generator."""
    bound = 1 / sqrt(op.weight[0].numel())
    op.weight.uniform_(-bound, bound, generator=generator)
    if op.bias is not None:
        op.bias.uniform_(-bound, bound, generator=generator)
