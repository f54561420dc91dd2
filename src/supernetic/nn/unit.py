"""A convolution or linear map with the BN behind it: what layers are made of, whole or in part.

A network's unit is used whole. A supernet's is larger than most of the networks that use it; each of them sees a `View`
of it: some of its channels and the centre of its kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..blueprint import Layer, Part
from ..stabiliser import is_stabiliser
from .shared_norm import shared_batch_norm
from .strided import convolve

STRIDED_ROLES = ("conv", "conv1", "depthwise")  # the roles that carry the layer's stride


class View(NamedTuple):
    """The part of a unit's tensors that a smaller unit uses; everything by default."""

    out: slice = slice(None)
    into: slice = slice(None)  # of a depthwise convolution always everything: it has one input channel per output
    crop: slice = slice(None)  # rows and columns of the kernel


WHOLE = View()


class Statistics(NamedTuple):
    """Means and variances for one BN, in place of its own.

    With a `factor` the batch's own are used, and these are moved towards them by that factor.
    """

    mean: Tensor | None
    var: Tensor | None
    factor: float | None = None


class Conv2d(nn.Conv2d):
    """Its weights are left to `initialise`."""

    padded_as = ""  # the layer's `padding`

    def reset_parameters(self) -> None:
        """Draw nothing."""

    def forward(self, input: Tensor) -> Tensor:
        """Convolve; see `strided` for why this is not torch's own method."""
        return convolve(input, self.weight, self.bias, self.stride[0], self.groups, *_padding(self))


class Linear(nn.Linear):
    """Its weights are left to `initialise`."""

    def reset_parameters(self) -> None:
        """Draw nothing."""


class Unit(nn.Module):
    """`op` (convolution, linear map or none), then `norm` (BN or none). Weights are not set: see `initialise`."""

    def __init__(self, layer: Layer, part: Part) -> None:
        super().__init__()
        self.op: nn.Conv2d | nn.Linear | None = None
        self.norm: nn.BatchNorm2d | None = None
        self.shares_statistics = False  # whether BN takes those of all processes that train together
        # whether it ends a branch that a shortcut is added to
        self.residual = part.role in ("project", "conv2") and bool(layer.shortcut)
        self.stabiliser = is_stabiliser(layer)
        self.hidden = layer.kind == "linear" and bool(layer.act)  # not the classifier
        if layer.kind == "linear":
            self.op = Linear(part.c_in, part.c_out, part.bias)
        elif part.kernel:
            stride = layer.stride if part.role in STRIDED_ROLES else 1
            padding = part.kernel // 2
            self.op = Conv2d(part.c_in, part.c_out, part.kernel, stride, padding, groups=part.groups, bias=part.bias)
            self.op.padded_as = layer.padding
        if part.norm or layer.kind == "preconv":  # a preconv that is not `norm` has a BN too, without weights
            self.norm = nn.BatchNorm2d(part.c_out, layer.eps, affine=part.norm)

    def forward(self, x: Tensor, view: View | None = None, stats: Statistics | None = None) -> Tensor:
        """Apply the unit or a part of it.

        Args:
            x: The input.
            view: The part to use; by default all of it.
            stats: BN statistics to use in place of its own.

        Returns:
            The output.
        """
        if self.op is not None:
            x = self.op(x) if view is None else _apply(self.op, x, view)
        norm = self.norm
        shared = self.shares_statistics and norm is not None and norm.training and stats is None
        if norm is None or (view is None and stats is None and not shared):
            return x if norm is None else norm(x)
        out = WHOLE.out if view is None else view.out
        if stats is None:
            stats = self._own_statistics(norm, out)
        weight, bias = (None, None) if norm.weight is None else (norm.weight[out], norm.bias[out])
        if shared:
            if view is None and norm.track_running_stats and norm.num_batches_tracked is not None:
                norm.num_batches_tracked.add_(1)  # as torch's BN does, which a view leaves out
            return shared_batch_norm(x, stats.mean, stats.var, weight, bias, stats.factor or 0.0, norm.eps)
        training = stats.factor is not None
        return F.batch_norm(x, stats.mean, stats.var, weight, bias, training, stats.factor or 0.0, norm.eps)

    def averages(self, out: slice = WHOLE.out) -> tuple[Tensor, Tensor]:
        """The running mean and variance of the BN."""
        norm = self.norm
        if norm is None or norm.running_mean is None or norm.running_var is None:
            raise ValueError("a unit without BN has no averages")
        return norm.running_mean[out], norm.running_var[out]

    def _own_statistics(self, norm: nn.BatchNorm2d, out: slice) -> Statistics:
        """Used as torch does: in training moved by the momentum, unless they are not tracked."""
        if norm.training and not norm.track_running_stats:
            return Statistics(None, None, 0.0)
        return Statistics(*self.averages(out), norm.momentum if norm.training else None)

    @torch.no_grad()
    def load(self, other: Unit, view: View) -> None:
        """Copy the view of another unit, BN statistics included."""
        if self.op is not None and other.op is not None:
            self.op.weight.copy_(cut(other.op.weight, view))
            if self.op.bias is not None:
                self.op.bias.copy_(other.op.bias[view.out])  # type: ignore[index]
        if self.norm is not None and other.norm is not None:
            theirs = other.norm.state_dict()
            for name, tensor in self.norm.state_dict().items():
                tensor.copy_(theirs[name][view.out] if tensor.ndim else theirs[name])


def _apply(op: nn.Conv2d | nn.Linear, x: Tensor, view: View) -> Tensor:
    bias = None if op.bias is None else op.bias[view.out]
    weight = cut(op.weight, view)
    if isinstance(op, nn.Linear):
        return F.linear(x, weight, bias)
    groups = 1 if op.groups == 1 else len(weight)
    return convolve(x, weight, bias, op.stride[0], groups, *_padding(op))


def _padding(op: nn.Conv2d) -> tuple[str, ...]:
    """The last argument of `convolve`, where it is not the usual one."""
    padded_as = getattr(op, "padded_as", "")
    return (padded_as,) if padded_as else ()


def cut(weight: Tensor, view: View) -> Tensor:
    """The view of a weight, packed: convolutions are slow on scattered memory."""
    if weight.ndim == 2:
        return weight[view.out, view.into]
    # Not `is_contiguous`: where a dimension is 1 both layouts are, and convolutions of 1 x 1 maps follow the strides.
    last = weight.stride(1) == 1 and weight.stride(3) == weight.shape[1]
    part = weight[view.out, view.into, view.crop, view.crop]
    return part.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)


def share_statistics(model: nn.Module) -> int:
    """Let the BN of all units take the statistics of all processes that train the model together.

    Args:
        model: A supernet or a network; torch's own BN in modules that users bring stays as it is.

    Returns:
        The number of units that do so now.
    """
    units = [m for m in model.modules() if isinstance(m, Unit) and m.norm is not None]
    for unit in units:
        unit.shares_statistics = True
    return len(units)
