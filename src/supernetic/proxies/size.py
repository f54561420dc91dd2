"""Sizes as votes: multiply-accumulates, parameters and layers, of what is live.

Paper: Ning et al., "Evaluating Efficient Performance Estimators of Neural Architectures", arXiv 2008.03064, where sizes
are what other estimators have to beat.
Differences: only live layers count (`costs.live`).
"""

from __future__ import annotations

from ..blueprint import parts
from ..costs.macs import add_up
from .probe import Probe

RECTIFIED = ("preconv", "reduce")  # kinds of layer that begin with a ReLU, whatever their `act`


def live_macs(probe: Probe) -> float:
    """Multiply-accumulates for one image."""
    return float(add_up(probe.live)[0])


def live_params(probe: Probe) -> float:
    """Trainable numbers."""
    return float(add_up(probe.live)[1])


def layers(probe: Probe) -> float:
    """Layers that have both weights and a rectifier; one without the latter is linear, and adds no depth."""
    return float(sum(bool(parts(x)) and (bool(x.act) or x.kind in RECTIFIED) for x in probe.live))
