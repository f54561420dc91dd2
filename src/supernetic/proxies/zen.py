"""Zen-score: how much a small change of the image changes the features, with the scales that BN removes put back.

Paper: Lin et al., "Zen-NAS: A Zero-Shot NAS for High-Performance Image Recognition", arXiv 2102.01063, algorithm 1.
Differences: none for chains of blocks. In cells only the shortcuts inside reductions are removed: skips are operations.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import torch
import torch.nn.functional as F
from torch import Tensor

from ..blueprint import Blueprint, Layer
from ..nn.run import Parts, Program
from ..nn.unit import Unit
from .probe import Probe, apply_changed

PERTURBATION_SCALE = 0.01  # of the change of the image


@torch.no_grad()
def zen(probe: Probe) -> float:
    """The log of the mean change of the features before pooling, plus those of the standard deviations before each BN.

    Weights, images and changes are all drawn from a standard normal distribution.
    """
    shape, device = probe.images.shape, probe.images.device
    x, change = (torch.randn(shape, generator=_seeded(probe.seed + 1 + i)).to(device) for i in range(2))
    before, scales = _features(probe, x)
    after, _ = _features(probe, x + PERTURBATION_SCALE * change)
    return float((after - before).flatten(1).norm(dim=1).mean().log() + scales)


def _features(probe: Probe, x: Tensor) -> tuple[Tensor, float]:
    """The last map before global pooling, and the sum of the logs of the scales that BN removed."""
    generator, scales = _seeded(probe.seed), []

    def drawn(weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return torch.zeros_like(weight)
        return torch.randn(weight.shape, generator=generator).to(weight.device)

    def normal(unit: Unit, counts: bool) -> Callable[[Tensor], Tensor]:
        def run(x: Tensor) -> Tensor:
            x = x if unit.op is None else apply_changed(unit.op, x, drawn)
            if unit.norm is None:
                return x
            if counts:
                scales.append(float(x.var((0, 2, 3), correction=0).mean().log() / 2))
            return F.batch_norm(x, None, None, training=True)

        return run

    def parts(layer: Layer) -> Parts:
        units = probe.network.units(layer).items()
        return {role: _nothing if role == "shortcut" else normal(unit, layer.name in names) for role, unit in units}

    names = {layer.name for layer in probe.live}
    layers = takewhile(lambda layer: layer.kind != "gap", probe.blueprint)
    plain = Blueprint(tuple(layer._replace(shortcut="") for layer in layers))
    return Program(plain)(x, parts), sum(scales)


def _nothing(x: Tensor) -> Tensor:
    return x.new_zeros(())


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
