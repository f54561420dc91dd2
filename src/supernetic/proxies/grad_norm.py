"""grad_norm: how large the first gradients are.

Paper: Abdelfattah et al., "Zero-Cost Proxies for Lightweight NAS", arXiv 2101.08134.
"""

from __future__ import annotations

from .probe import Probe


def grad_norm(probe: Probe) -> float:
    """The Euclidean norms of the weights' gradients, added up over the layers."""
    return sum(float(g.norm()) for g in probe.gradients)
