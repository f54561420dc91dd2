"""AZ-NAS's proxies: expressivity, progressivity and trainability of the blocks of a network.

Paper: Lee & Ham, "AZ-NAS: Assembling Zero-Cost Proxies for Network Architecture Search", arXiv 2403.19232, section 3.2;
the fourth, complexity, is `live_macs`.
Differences: the mini-batch holds whatever the caller gives, where the paper takes Gaussian noise. Weights are drawn by
fan-out, as everywhere here; the paper's by fan-in.

Blocks are the stem and everything behind which the network is a single map again (`blocks.block_ends`): the cells and
reductions of NAS-Bench-201, the layers of a chain.
"""

from __future__ import annotations

from itertools import pairwise
from math import nan

import torch
import torch.nn.functional as F
from torch import Tensor

from .probe import Probe

SMALL = 1e-6  # keeps the quotient finite


def expressivity(probe: Probe) -> float:
    """The sum over blocks of the entropy of their features' principal components: how evenly channels are used."""
    return sum(probe.entropies) if probe.live else nan


def progressivity(probe: Probe) -> float:
    """The least gain of that entropy from one block to the next."""
    entropies = probe.entropies
    if not probe.live or len(entropies) < 2:
        return nan
    return min(b - a for a, b in pairwise(entropies))


def trainability(probe: Probe) -> float:
    """How near the blocks are to passing gradients on at their own size; 0 is the best, and a mere copy has no number.

    For each block, the spectral norm s of the mean outer product of a random gradient of signs behind it and what
    arrives before it; the mean over blocks of 2 - s - 1/s.
    """
    features = probe.features
    if not probe.live or len(features) < 2:
        return nan
    generator = torch.Generator().manual_seed(probe.seed)
    found = [_passes_on(a, b, generator) for a, b in pairwise(features)]
    return sum(found) / len(found)


def _passes_on(before: Tensor, after: Tensor, generator: torch.Generator) -> float:
    signs = (2 * torch.randint(0, 2, after.shape, generator=generator) - 1).to(after)
    (arrived,) = torch.autograd.grad(after, before, signs, retain_graph=True, allow_unused=True)
    if arrived is None or torch.equal(arrived, signs):
        return nan
    stride = -(-arrived.shape[-1] // signs.shape[-1])
    if stride > 1:  # the pixels that a strided block turns into one are channels of it
        missing = stride * signs.shape[-1] - arrived.shape[-1]
        arrived = F.pixel_unshuffle(F.pad(arrived, (0, missing, 0, missing)), stride)
    outer = _by_channel(arrived).T @ _by_channel(signs) / signs[:, 0].numel()
    norm = float(torch.linalg.matrix_norm(outer, 2))
    return 2 - norm - 1 / (norm + SMALL)


def _by_channel(maps: Tensor) -> Tensor:
    """One row per image and pixel, one column per channel."""
    return maps.permute(0, 2, 3, 1).reshape(-1, maps.shape[1])
