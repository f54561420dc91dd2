"""Weight angle: how far training has turned the weights of a network away from where they started.

Paper: Hu et al., "Angle-based Search Space Shrinking", arXiv 2004.13431; Zhang et al., "Neural Architecture Search with
Random Labels", arXiv 2101.11834.
Differences: every weight of a network counts once, where the papers add the weights of each path through a cell again,
and stand in ones and averages for what has no weights; here such layers count nothing.

It looks at no image: an answer takes microseconds once each layer's share is known.
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
    """`proxy/angle` in radians, between the weights of an untrained and of a trained supernet; more is better."""

    metrics = (ANGLE,)

    def __init__(self, initial: Supernet, trained: Supernet) -> None:
        names = [{n: tuple(p.shape) for n, p in net.named_parameters()} for net in (initial, trained)]
        if names[0] != names[1]:
            raise InputError(f"an angle needs the same supernet twice, got {initial.space} and {trained.space}")
        self.initial, self.trained = initial, trained
        self.space = shared_cells(trained.space)
        self._known: dict[Layer, tuple[float, float, float]] = {}

    @property
    def test(self) -> frozenset[str]:
        """None: no data is looked at."""
        return frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """The angle of each network; NaN for one without weights."""
        return [{ANGLE: self._angle(self.space.check(a))} for a in archs]

    def _angle(self, arch: Arch) -> float:
        layers = self.trained.blueprint(arch).layers
        dot, before, after = (sum(x) for x in zip(*map(self._products, layers), strict=True))
        length = sqrt(before * after)
        return acos(max(-1.0, min(1.0, dot / length))) if length else nan

    @torch.no_grad()
    def _products(self, layer: Layer) -> tuple[float, float, float]:
        """Of a layer's weights: initial times trained, initial squared, trained squared."""
        if layer not in self._known:
            total = torch.zeros(3, dtype=torch.float64)
            theirs = self.trained.units(layer)
            for role, (unit, view) in self.initial.units(layer).items():
                ops = [u.op for u in (unit, theirs[role][0]) if u.op is not None]
                if ops:
                    old, new = (cut(op.weight, view or WHOLE).flatten().double() for op in ops)
                    total += torch.stack([old @ new, old @ old, new @ new])
            dot, before, after = total.tolist()
            self._known[layer] = dot, before, after
        return self._known[layer]
