from __future__ import annotations

import numpy as np
import pytest

from supernetic import catalog
from supernetic.errors import ArchError, InputError
from supernetic.samplers.extremes import extremes
from supernetic.samplers.named import sampler, settings_of
from supernetic.samplers.single import Single
from supernetic.samplers.step import Draw


def test_every_step_takes_the_same_network() -> None:
    space = catalog.space("scarlet-s2:resolution=32,width=0.25")
    taken = sampler({"name": "single", "arch": "model-m"})
    for seed in (0, 1):
        step = taken(space, Draw(np.random.default_rng(seed), step=seed))
        assert [p.arch for p in step.paths] == [space.named["model-m"]]
    assert sampler(settings_of(taken)) == taken


def test_the_ends_of_a_space_have_names() -> None:
    space = catalog.space("macro:channels=8,resolution=16")
    assert (Single("smallest").arch_of(space), Single("largest").arch_of(space)) == extremes(space)
    assert Single("01210000").arch_of(space) == space.parse("01210000")


def test_a_network_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="arch must name the network"):
        Single("")
    with pytest.raises(ArchError):
        Single("9999").arch_of(catalog.space("macro"))
