"""SWAP: how many rectifiers of a network tell the images apart each in its own way.

Paper: Peng et al., "SWAP-NAS: Sample-Wise Activation Patterns for Ultra-fast NAS", arXiv 2403.04161, definition 3.2.
Differences: dead layers do not count. Without the paper's regularisation, which needs a wanted size of the network.
"""

from __future__ import annotations

import numpy as np

from .probe import Probe

WORD = 8  # bytes of a number


def swap(probe: Probe) -> float:
    """The number of different patterns, where the pattern of a rectifier is which of the images switch it on."""
    patterns = [np.packbits(signs.cpu().numpy(), axis=0) for signs in probe.signs]  # bytes x rectifiers
    if not patterns:
        return 0.0
    codes = np.concatenate(patterns, axis=1).T
    words = -(-codes.shape[1] // WORD)
    padded = np.zeros((len(codes), words * WORD), dtype=np.uint8)
    padded[:, : codes.shape[1]] = codes
    numbers = padded.view(np.uint64)
    distinct = np.unique(numbers.ravel()) if words == 1 else np.unique(numbers, axis=0)  # the first is much faster
    return float(len(distinct))
