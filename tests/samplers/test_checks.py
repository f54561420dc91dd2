from dataclasses import dataclass

import numpy as np
import pytest

from supernetic.catalog import SPACES, space
from supernetic.errors import ArchError
from supernetic.samplers.attentive import Attentive
from supernetic.samplers.budgeted import Budgeted
from supernetic.samplers.checks import contract_violations
from supernetic.samplers.hierarchical import Hierarchical
from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.step import Draw, SampledPath, Sampler, Step
from supernetic.samplers.strict_fair import StrictFair
from supernetic.samplers.uniform import Uniform
from supernetic.space import Space
from supernetic.spaces.macro import Macro

ANYWHERE = [
    Uniform(),
    Uniform(depth_uniform=True),
    StrictFair(fresh_batch=True),
    Sandwich(between=Attentive(rows=500)),
    Attentive(draws="exact", budgets="uniform", rows=500),
    Budgeted(("macs>=0",)),
    Sandwich(1, Budgeted(("macs>=0",), of=StrictFair())),
]


# Costs of NAS-Bench-101 come cell by cell, so a small one stands for it.
NAMES = sorted(set(SPACES) - {"efficientnet", "nasbench101"} | {"nasbench101:vertices=4"})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sampler", ANYWHERE, ids=lambda s: type(s).__name__)
def test_every_sampler_on_every_space(sampler: Sampler, name: str) -> None:
    assert list(contract_violations(sampler, space(name), steps=3)) == []


def test_hierarchical() -> None:
    assert list(contract_violations(Hierarchical(), space("scalenet"))) == []


class Loose:
    """Not frozen, not reproducible, and a different number of paths at every step."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, space: Space, draw: Draw) -> Step:
        self.calls += 1
        return Step((SampledPath((0,) * 8, "teacher"),) * self.calls)


@dataclass(frozen=True)
class Numpy:
    def __call__(self, space: Space, draw: Draw) -> Step:
        return Step((SampledPath(tuple(np.zeros(8, dtype=np.int8)), "nobody"),), reduction="most")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Empty:
    def __call__(self, space: Space, draw: Draw) -> Step:
        return Step(())


def test_what_is_found() -> None:
    text = " ".join(contract_violations(Loose(), Macro(), steps=2))
    parts = ("frozen dataclass", "same when it is drawn again", "must follow one that learns", "same at every step")
    for part in parts:
        assert part in text
    text = " ".join(contract_violations(Numpy(), Macro(), steps=1))
    for part in ("plain integers", "label or teacher, got 'nobody'", "mean or sum, got 'most'"):
        assert part in text
    assert list(contract_violations(Empty(), Macro(), steps=1)) == ["a step must have at least one path"]


def test_foreign_architectures_are_refused() -> None:
    @dataclass(frozen=True)
    class Foreign:
        def __call__(self, space: Space, draw: Draw) -> Step:
            return Step((SampledPath((9,) * 8),))

    with pytest.raises(ArchError):
        list(contract_violations(Foreign(), Macro()))
