"""SNIP: how much the loss would change if a weight were removed, summed over all weights.

Paper: Lee et al., "SNIP: Single-shot Network Pruning based on Connection Sensitivity", arXiv 1810.02340; as a score of
whole networks: Abdelfattah et al., arXiv 2101.08134.
"""

from __future__ import annotations

from .probe import Probe


def snip(probe: Probe) -> float:
    """The sum of |weight x gradient| over all weights."""
    return sum(float((w.detach() * g).abs().sum()) for w, g in zip(probe.weights, probe.gradients, strict=True))
