"""BN statistics for evaluation: the running ones (`model.eval()`), each batch's own, or recalibrated ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ..errors import InputError


def norms_of(model: nn.Module) -> list[nn.BatchNorm2d]:
    """All BNs of a model."""
    return [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]


@contextmanager
def batch_statistics(model: nn.Module) -> Iterator[None]:
    """Within, every BN uses the statistics of its batch, and no buffer changes."""
    norms = norms_of(model)
    before = [(n.training, n.track_running_stats) for n in norms]
    for norm in norms:
        norm.training, norm.track_running_stats = True, False
    try:
        yield
    finally:
        for norm, (training, tracks) in zip(norms, before, strict=True):
            norm.training, norm.track_running_stats = training, tracks


@torch.no_grad()
def recalibrate(network: nn.Module, batches: Iterable[Tensor]) -> None:
    """Replace the running BN statistics by their averages over images; weights and modes stay as they are.

    Args:
        network: The network.
        batches: Batches of images.
    """
    modes, norms = [(m, m.training) for m in network.modules()], norms_of(network)
    momenta = [n.momentum for n in norms]
    network.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.train()
        norm.momentum = None  # torch's sign for a cumulative average
    try:
        seen = 0
        for images in batches:
            network(images)
            seen += 1
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        for module, mode in modes:
            module.training = mode
    if not seen:
        raise InputError("recalibration needs at least one batch of images, got none")
