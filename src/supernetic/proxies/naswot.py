"""NASWOT: how well a network tells images apart by which of its rectifiers they switch on.

Paper: Mellor et al., "Neural Architecture Search without Training", arXiv 2006.04647v3, section 3.
Differences: dead layers do not count. Any activation that is about zero for negative inputs counts as a rectifier.
"""

from __future__ import annotations

import torch

from .probe import Probe


def naswot(probe: Probe) -> float:
    """The log-determinant of the kernel that counts, for each pair of images, the rectifiers in the same state."""
    n = len(probe.images)
    kernel = torch.zeros(n, n, dtype=torch.float64)  # on the CPU: not every device has doubles
    for signs in probe.signs:
        code = 2 * signs.float() - 1
        kernel += ((code @ code.T + code.shape[1]) / 2).cpu()
    return float(torch.linalg.slogdet(kernel).logabsdet)
