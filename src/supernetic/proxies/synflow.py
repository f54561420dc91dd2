"""synflow: how much can flow from image to logits along all paths of a network, whatever the data.

Paper: Tanaka et al., "Pruning neural networks without any data by iteratively conserving synaptic flow", arXiv
2006.05467; as a score of whole networks, without BN: Abdelfattah et al., arXiv 2101.08134.
Differences: the logarithm of the sum. Every activation is a ReLU, because one with a ceiling would stop the flow.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, nan

import torch
from torch import Tensor

from ..blueprint import Blueprint, Layer
from ..nn.run import Parts, Program
from ..nn.unit import Unit
from .probe import Probe, apply_changed


def synflow(probe: Probe) -> float:
    """The log of the sum of |weight x gradient| for the sum of all logits, with an image of ones and |weights|."""
    blueprint, weights = probe.blueprint, []

    def absolute(value: Tensor) -> Tensor:
        weights.append(value.detach().cpu().abs().double().requires_grad_())  # not every device has doubles
        return weights[-1]

    def without_norm(unit: Unit) -> Callable[[Tensor], Tensor]:
        return lambda x: x if unit.op is None else apply_changed(unit.op, x, absolute)

    def parts(layer: Layer) -> Parts:
        return {role: without_norm(unit) for role, unit in probe.network.units(layer).items()}

    ones = torch.ones(1, blueprint.in_channels, blueprint.resolution, blueprint.resolution, dtype=torch.float64)
    plain = Blueprint(tuple(layer._replace(act="relu" if layer.act else "") for layer in blueprint))
    with torch.enable_grad():
        flow = Program(plain)(ones, parts).sum()
    gradients = torch.autograd.grad(flow, weights, materialize_grads=True)
    total = sum(float((w.detach() * g).sum()) for w, g in zip(weights, gradients, strict=True))
    return log(total) if total > 0 else nan
