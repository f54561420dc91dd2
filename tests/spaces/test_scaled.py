from __future__ import annotations

import numpy as np
import pytest
import torch

from supernetic import catalog
from supernetic.blueprint import parts
from supernetic.errors import InputError
from supernetic.space import Arch, Space
from supernetic.spaces.macro import Macro
from supernetic.spaces.scaled import Product, Strategies
from supernetic.spaces.scarlet import ScarletS1
from supernetic.strategy import Scaling, scale
from supernetic.supernets.sharing import shared_parts, sharing_of
from supernetic.supernets.supernet import Supernet

LISTS = Strategies(((1.0,), (1.1, 1.5), (1.6, 2.0)), ((32,), (34, 36), (40, 44)))


def draw(space: Space, n: int) -> list[Arch]:
    return [tuple(a) for a in space.sample(np.random.default_rng(0), n).tolist()]


def test_any_space_of_chains_can_be_multiplied() -> None:
    base = ScarletS1(resolution=64)
    space = base * Strategies(((1.0,), (1.5, 2.0)), ((64,), (80, 96)), rule="efficientnet")
    assert space.size == base.size * (1 + 8)
    for arch in draw(space, 50):
        assert space.parse(space.format(arch)) == arch
        assert space.blueprint(arch).resolution in (64, 80, 96)
        assert space.canonical(space.canonical(arch)) == space.canonical(arch)
    arch = (1, 1, 0, 1, *(0,) * 19)
    wanted = Scaling(2.0, 1.5, 96, "efficientnet")
    assert space.blueprint(arch) == scale(base.blueprint(arch[4:]), wanted)


@pytest.mark.parametrize("base", ["macro:channels=4", "scarlet-s1:resolution=32,width=0.25", "deep-narrow"])
@pytest.mark.parametrize("rule", ["scalenet", "efficientnet", "repeat"])
def test_a_supernet_has_room_for_every_network(base: str, rule: str) -> None:
    space = catalog.space(base) * Strategies(LISTS.factors, LISTS.pixels, rule)
    room, key = shared_parts(space), sharing_of(space).key
    for arch in draw(space, 100):
        for layer in space.blueprint(arch):
            for part in parts(layer):
                full = room[f"{key(layer)}.{part.role}"][1]
                assert part.c_in <= full.c_in
                assert part.c_out <= full.c_out
                assert part.kernel <= full.kernel


def test_no_more_room_than_needed() -> None:
    """Two-sided tensors are as wide as the narrowest and the widest network together, and none is for no one."""
    space = Macro(channels=4) * LISTS
    key = sharing_of(space).key
    used: dict[str, set[int]] = {}
    for arch in draw(space, 4000):
        for layer in space.blueprint(arch):
            for part in parts(layer):
                used.setdefault(f"{key(layer)}.{part.role}", set()).add(part.c_out)
    room = shared_parts(space)
    assert set(used) == set(room)
    for path, widths in used.items():
        assert room[path][1].c_out == (max(widths) + min(widths) if len(widths) > 1 else max(widths))


def test_a_supernet_turns_images_to_the_side_of_each_network() -> None:
    space = Macro(channels=4, head=16) * LISTS
    supernet = Supernet(space, seed=0)
    assert supernet.resolutions == {32, 34, 36, 40, 44}
    for arch in draw(space, 10):
        _, stem = next(iter(supernet.trace(torch.zeros(2, 3, 32, 32), arch)))
        assert stem.shape[-1] == space.blueprint(arch).resolution


def test_a_base_that_is_no_automaton() -> None:
    space = Product(catalog.space("nasbench101"), LISTS)
    with pytest.raises(InputError, match="base of a scaled supernet must be a SequentialSpace, got nasbench101"):
        list(space.layers())
