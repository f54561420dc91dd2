"""Costs of any module, as torch counts them; those of a blueprint are known without building it (`costs.macs`)."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def counted(network: nn.Module, in_channels: int, resolution: int) -> tuple[int, int]:
    """Costs of a module, counted while it runs on one image.

    Args:
        network: Any module from images to logits.
        in_channels: Channels of its images.
        resolution: Their height and width in pixels.

    Returns:
        MACs of matrix products and convolutions, and the number of parameters.
    """
    mode = network.training
    with FlopCounterMode(display=False) as counter:  # not `no_grad`, in which torch trips over views of parameters
        network.eval()(torch.zeros(1, in_channels, resolution, resolution))
    network.train(mode)
    return counter.get_total_flops() // 2, sum(p.numel() for p in network.parameters())
