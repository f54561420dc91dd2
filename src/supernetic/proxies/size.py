"""Sizes as proxies: multiply-accumulates, parameters and layers of the live part of a network.

Paper: Ning et al., "Evaluating Efficient Performance Estimators of Neural Architectures", arXiv 2008.03064, where sizes
are the baseline for other estimators.
Differences: only live layers count (`costs.live`).
"""

from __future__ import annotations

from ..blueprint import parts
from ..costs.macs import add_up
from .probe import Probe

RELU_FIRST_KINDS = ("preconv", "reduce")  # kinds of layer that begin with a ReLU, whatever their `act`


def live_macs(probe: Probe) -> float:
    """The number of multiply-accumulates for one image."""
    return float(add_up(probe.live)[0])


def live_params(probe: Probe) -> float:
    """The number of trainable parameters."""
    return float(add_up(probe.live)[1])


def layers(probe: Probe) -> float:
    """The number of layers with both weights and a rectifier; a layer without rectifier is linear and adds no depth."""
    return float(sum(bool(parts(x)) and (bool(x.act) or x.kind in RELU_FIRST_KINDS) for x in probe.live))
