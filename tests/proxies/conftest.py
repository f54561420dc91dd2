from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from supernetic.blueprint import Blueprint, Layer
from supernetic.proxies.probe import Probe
from supernetic.spaces.nasbench201 import NASBench201

Look = Callable[..., Probe]


@pytest.fixture
def look() -> Look:
    """A probe of layers, or of a cell of NAS-Bench-201, under random images."""

    def make(what: tuple[int, ...] | tuple[Layer, ...], n: int = 6, seed: int = 0) -> Probe:
        blueprint = Blueprint(what) if isinstance(what[0], Layer) else cells.blueprint(what)
        generator = torch.Generator().manual_seed(99)
        images = torch.randn(n, blueprint.in_channels, blueprint.resolution, blueprint.resolution, generator=generator)
        labels = torch.randint(0, blueprint.classes, (n,), generator=generator)
        return Probe(blueprint, images, labels, seed)

    cells = NASBench201(cells=1, channels=8, resolution=8)
    return make
