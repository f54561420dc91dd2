"""ZiCo: how large the gradients of a network are, and how little they differ from batch to batch.

Paper: Li et al., "ZiCo: Zero-shot NAS via Inverse Coefficient of Variation on Gradients", arXiv 2301.11300, section 3.
Differences: the two batches are the halves of the mini-batch.
"""

from __future__ import annotations

from math import log, nan

import torch
import torch.nn.functional as F

from ..nn.norm import batch_statistics
from .probe import Probe

BATCHES = 2


def zico(probe: Probe) -> float:
    """The sum over layers of the log of the sum over weights of mean |gradient| / standard deviation, over batches."""
    if not probe.live or len(probe.images) < 2 * BATCHES:
        return nan
    found = []
    for images, labels in zip(probe.images.chunk(BATCHES), probe.labels.chunk(BATCHES), strict=True):
        with batch_statistics(probe.network), torch.enable_grad():
            loss = F.cross_entropy(probe.network(images), labels)
        found.append(torch.autograd.grad(loss, probe.weights, materialize_grads=True))
    total = 0.0
    for of_layer in zip(*found, strict=True):
        gradients = torch.stack(of_layer)
        spread = gradients.std(dim=0, correction=0)
        varies = spread > 0
        ratio = float((gradients.abs().mean(dim=0)[varies] / spread[varies]).sum())
        total += log(ratio) if ratio > 0 else 0.0
    return total
