"""Weight angle: how far training has turned the weights of a network away from their initial values.

Paper: Hu et al., "Angle-based Search Space Shrinking", arXiv 2004.13431; Zhang et al., "Neural Architecture Search with
Random Labels", arXiv 2101.11834.
Differences: every weight of a network counts once; the papers count the weights of each path through a cell again. The
papers put ones and averages in place of layers without weights; here such layers do not count.

No image is needed. An answer takes microseconds once the products of its layers have been computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import acos, nan, sqrt

import torch

from ..blueprint import Layer
from ..errors import InputError
from ..nn.unit import WHOLE, cut
from ..objective import Metrics
from ..space import Arch
from ..supernets.supernet import Supernet
from .supernet import shared_cells

ANGLE = "proxy/angle"


class AngleEvaluator:
    """The angle between the weights of an untrained and a trained supernet, in radians; more is better.

    Args:
        initial: The supernet before its training.
        trained: The same supernet after it.
    """

    metrics = (ANGLE,)

    def __init__(self, initial: Supernet, trained: Supernet) -> None:
        names = [{n: tuple(p.shape) for n, p in net.named_parameters()} for net in (initial, trained)]
        if names[0] != names[1]:
            raise InputError(f"an angle needs two states of the same supernet, got {initial.space} and {trained.space}")
        self.initial, self.trained = initial, trained
        self.space = shared_cells(trained.space)
        self._products_of: dict[Layer, tuple[float, float, float]] = {}

    @property
    def test(self) -> frozenset[str]:
        """No metric comes from test data: no data are used."""
        return frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """The angle of each architecture; NaN for a network without weights."""
        return [{ANGLE: self._angle(self.space.check(a))} for a in archs]

    def _angle(self, arch: Arch) -> float:
        layers = self.trained.blueprint(arch).layers
        dot, before, after = (sum(x) for x in zip(*map(self._products, layers), strict=True))
        length = sqrt(before * after)
        return acos(max(-1.0, min(1.0, dot / length))) if length else nan

    @torch.no_grad()
    def _products(self, layer: Layer) -> tuple[float, float, float]:
        """Inner products of a layer's weights: initial with trained, initial with itself, trained with itself."""
        if layer not in self._products_of:
            total = torch.zeros(3, dtype=torch.float64)
            trained = self.trained.units(layer)
            for role, (unit, view) in self.initial.units(layer).items():
                ops = [u.op for u in (unit, trained[role][0]) if u.op is not None]
                if ops:
                    old, new = (cut(op.weight, view or WHOLE).flatten().cpu().double() for op in ops)
                    total += torch.stack([old @ new, old @ old, new @ new])
            dot, before, after = total.tolist()
            self._products_of[layer] = dot, before, after
        return self._products_of[layer]
