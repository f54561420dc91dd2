"""Sizes as votes: multiply-accumulates, parameters and layers, of what is live.

Paper: none; the floor that every other voter has to beat (Ning et al., "Evaluating Efficient Performance Estimators of
Neural Architectures", arXiv 2008.03064). See `costs.live` for what is counted.
"""

from __future__ import annotations

from ..blueprint import parts
from ..costs.macs import add_up
from .probe import Probe


def live_macs(probe: Probe) -> float:
    """Multiply-accumulates for one image."""
    return float(add_up(probe.live)[0])


def live_params(probe: Probe) -> float:
    """Trainable numbers."""
    return float(add_up(probe.live)[1])


def layers(probe: Probe) -> float:
    """Convolutions and linear maps; an inverted bottleneck has three."""
    return float(sum(part.kernel > 0 for layer in probe.live for part in parts(layer)))
