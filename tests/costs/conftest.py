"""Small spaces whose architectures can all be listed."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from supernetic.blueprint import Layer
from supernetic.costs.macs import macs_and_params
from supernetic.costs.table import LayerCost
from supernetic.errors import ArchError
from supernetic.space import Archs, SequentialSpace
from supernetic.spaces.declared import declare
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201


@dataclass(frozen=True, eq=False)
class Nanoseconds:
    """A made-up latency: not linear in any other cost, and with no useful common divisor."""

    name: str = "latency/ms"
    scale: int = 1_000_000
    base: int = 1234

    def of(self, layer: Layer) -> int:
        macs, params = macs_and_params(layer)
        return round(float(7 * macs**0.5 + params**0.7 + 31 * layer.kernel))


PRICE = Nanoseconds()


@pytest.fixture
def layer_cost() -> LayerCost:
    return PRICE


SMALL = {
    "macro": Macro(),
    "nasbench201": NASBench201(without=("none",)),
    "declared": declare(
        name="small",
        resolution=[24, 32],
        classes=10,
        stem={"width": [8, 12]},
        stages=[
            {"depth": [1, 2], "width": [8, 12], "kernel": [3, 5], "expansion": [2, 3], "per": "block"},
            {"depth": [1, 2], "width": [16, 20], "kernel": 3, "expansion": [3, 4], "se": [False, True]},
        ],
        head={"width": [32, 40]},
    ),
}


def all_archs(space: SequentialSpace) -> Archs:
    found = []
    for arch in product(*(range(len(c.options)) for c in space.choices)):
        try:
            found.append(space.check(arch))
        except ArchError:
            continue
    return np.array(found, dtype=np.int8)


@pytest.fixture(params=SMALL)
def small(request: pytest.FixtureRequest) -> tuple[SequentialSpace, Archs]:
    space = SMALL[request.param]
    return space, _listed(request.param)


_LISTS: dict[str, Archs] = {}


def _listed(name: str) -> Archs:
    if name not in _LISTS:
        _LISTS[name] = all_archs(SMALL[name])
    return _LISTS[name]
