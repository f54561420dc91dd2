"""One torch thread: two collapse when the machine is busy, and results then depend on their number."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
import torch

from supernetic import catalog
from supernetic.blueprint import Layer
from supernetic.costs.table import Price
from supernetic.space import Space
from supernetic.spaces.declared import DeclaredSpace

torch.set_num_threads(1)
TESTS = Path(__file__).parent
JOBS = {"cli", *(f"pipeline/{job}" for job in ("images", "scale", "select", "study"))}

# Every space of the catalogue, small enough for a test; odd sides, grey images and several resolutions among them.
SMALL = {
    "nasbench101": "channels=10,side=8,cells=1",
    "nasbench101-chain": "channels=8,side=9,cells=1",
    "nasbench201": "cells=1,channels=8,side=9",
    "macro": "channels=8,side=15,head=32",
    "scarlet-s1": "side=36,width=0.25,classes=10",
    "scarlet-s2": "side=32,width=0.25,classes=10",
    "attentive": "resolutions=24+33+40,width=0.25,classes=10,in_channels=1",
    "scalenet": "side=32,classes=10,width=0.25,released=true",
    "scalenet-base": "side=32,classes=10,width=0.25",
    "efficientnet": "side=32,classes=10",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a trained fixture go to one worker, so that it is made once.

    Those of a job share the fixtures of its folder, others at most those of their file.
    """
    for item in items:
        folder = item.path.parent.relative_to(TESTS)
        group = str(folder) if str(folder) in JOBS else str(item.path.relative_to(TESTS))
        item.add_marker(pytest.mark.xdist_group(group))


@cache
def _small(name: str) -> Space:
    if name in SMALL:
        return catalog.space(f"{name}:{SMALL[name]}")
    space = catalog.space(name)
    assert isinstance(space, DeclaredSpace)
    stages = tuple(replace(s, width=tuple(w // 4 for w in s.width), depth=s.depth[:2]) for s in space.stages)
    return replace(space, stages=stages, head=replace(space.head, width=(32, 48)), resolution=(32,), classes=10)


@pytest.fixture(scope="session")
def small() -> Callable[[str], Space]:
    """A space of the catalogue by name, in a small variant."""
    return _small


@dataclass(frozen=True, eq=False)
class Slowness:
    """A price: a microsecond per channel."""

    name: str = "latency/ms"
    scale: int = 1000
    base: int = 5

    def of(self, layer: Layer) -> int:
        return layer.c_in + layer.hidden


@pytest.fixture
def slowness() -> Price:
    """A made-up latency."""
    return Slowness()
