"""MeCo: how far the channels of each convolution are from repeating one another, on a single image.

Paper: Jiang, Wang and Bie, "MeCo: Zero-Shot NAS with One Data and Single Forward Pass via Minimum Eigenvalue of
Correlation", NeurIPS 2023.
Differences: the image is the first of the mini-batch, not noise; maps are those behind each convolution with its BN, of
live layers, where the authors' code looks behind every module.
"""

from __future__ import annotations

from math import nan

import torch

from .probe import Probe


def meco(probe: Probe) -> float:
    """The sum over convolutions of the least eigenvalue of the correlations between their output channels."""
    if not probe.live:
        return nan
    total = 0.0
    for feature_map in probe.first_maps:
        rows = feature_map.flatten(1).double()
        if min(rows.shape) < 2:
            continue
        correlation = torch.corrcoef(rows).nan_to_num(0.0)
        total += float(torch.linalg.eigvalsh(correlation)[0])
    return total
