"""A way round a fault of oneDNN, the library behind torch's convolutions on CPUs (uxlfoundation/oneDNN#6035).

The weight gradient of a 1 x 1 convolution with a stride, in the layout channels_last, writes past its buffer when there
are fewer input channels than the processor computes at a time: 8 with AVX2, 16 with AVX-512. That ends the process, or,
with several threads, gives wrong gradients in silence. Taking every second row and column first, and then convolving
without a stride, gives the same numbers and does not go there.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..blueprint import pads_of

VECTOR_CHANNELS = 16  # channels that the widest processors compute at a time


def convolve(x: Tensor, weight: Tensor, bias: Tensor | None, stride: int, groups: int, padding: str = "") -> Tensor:
    """A convolution padded as its layer says (`blueprint.Layer`); its weight gradient is right on every processor."""
    kernel = weight.shape[-1]
    if at_risk(weight.shape[1], kernel, stride) and _may_be_trained(x):
        x, stride = x[:, :, ::stride, ::stride], 1
    rows, columns = (pads_of(padding, n, kernel, stride) for n in x.shape[2:])
    if rows[0] == rows[1] and columns[0] == columns[1]:
        return F.conv2d(x, weight, bias, stride, (rows[0], columns[0]), groups=groups)
    return F.conv2d(F.pad(x, (*columns, *rows)), weight, bias, stride, groups=groups)


def at_risk(channels: int, kernel: int, stride: int) -> bool:
    """Whether a convolution is of the shape that the fault needs; `channels` are those of a group's input."""
    return kernel == 1 and stride > 1 and channels < VECTOR_CHANNELS


def layout_of(model: nn.Module) -> torch.memory_format:
    """The memory layout to train a model in: channels_last, which is faster, unless the fault would hit it.

    Our own convolutions avoid the fault. Modules that users bring are looked through for torch's.
    """
    for module in model.modules():
        if type(module).forward is nn.Conv2d.forward and isinstance(module, nn.Conv2d):
            shape = module.in_channels // module.groups, max(module.kernel_size), max(module.stride)
            if at_risk(*shape):
                return torch.contiguous_format
    return torch.channels_last


def in_layout(x: Tensor, layout: torch.memory_format) -> Tensor:
    """The images in a layout. Those of one channel are in both; their strides decide what convolutions make of them."""
    if layout == torch.contiguous_format and x.stride() != torch.empty(x.shape, device="meta").stride():
        return x.clone(memory_format=layout)
    return x.contiguous(memory_format=layout)


def _may_be_trained(x: Tensor) -> bool:
    """Only gradients on a CPU are at fault; an exported graph keeps the convolution as it is."""
    return x.device.type == "cpu" and torch.is_grad_enabled() and not torch.compiler.is_exporting()
