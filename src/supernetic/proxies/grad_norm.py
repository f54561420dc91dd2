"""grad_norm: how large the gradients of an untrained network are.

Paper: Abdelfattah et al., "Zero-Cost Proxies for Lightweight NAS", arXiv 2101.08134.
"""

from __future__ import annotations

from .probe import Probe


def grad_norm(probe: Probe) -> float:
    """The sum over all layers of the Euclidean norm of the gradients of their weights."""
    return sum(float(g.norm()) for g in probe.gradients)
