"""jacov: how differently a network reacts to different images, by the correlation of its input gradients.

Paper: Mellor et al., "Neural Architecture Search without Training", arXiv 2006.04647v1, section 3.
"""

from __future__ import annotations

from math import nan

import torch

from .probe import Probe

EIGENVALUE_OFFSET = 1e-5  # keeps logarithm and quotient finite


def jacov(probe: Probe) -> float:
    """How little the input gradients of different images are correlated; at most -1 per image."""
    correlation = torch.corrcoef(probe.jacobian.cpu().double())  # small, and not every device has doubles
    if not correlation.isfinite().all():
        return nan
    values = torch.linalg.eigvalsh(correlation).clamp(min=0) + EIGENVALUE_OFFSET
    return float(-(values.log() + 1 / values).sum())
