from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from supernetic import catalog
from supernetic.blueprint import Blueprint, Part, parts
from supernetic.errors import InputError
from supernetic.nn.unit import WHOLE
from supernetic.space import Arch, Choice, Space
from supernetic.spaces.declared import declare
from supernetic.strategy import ceil_of
from supernetic.supernets.sharing import SHARINGS, layers_of, shared_parts, sharing_of, view_of


def elastic(sharing: str = "elastic") -> Space:
    """A space of one's own that can be enumerated."""
    stage = {"width": [8, 12], "depth": [1, 2], "kernel": [3, 5], "expansion": [1, 3], "se": [False, True], "stride": 2}
    return declare(name="mine", stem={"width": [4, 6]}, stages=[stage], resolution=[8, 12], classes=3, sharing=sharing)


@pytest.mark.parametrize("sharing", ["choice", "elastic"])
def test_shared_parts_are_as_large_as_the_largest_network_needs(sharing: str) -> None:
    space = elastic(sharing)
    key = SHARINGS[sharing].key
    widest: dict[str, tuple[int, int, int]] = {}
    for arch in product(*(range(r) for r in space.radices)):
        for layer in space.blueprint(arch):
            for p in parts(layer):
                path = f"{key(layer)}.{p.role}"
                known = widest.get(path, (0, 0, 0))
                widest[path] = tuple(map(max, known, (p.c_in, p.c_out, p.kernel)))  # type: ignore[assignment]
    assert {n: (p.c_in, p.c_out, p.kernel) for n, (_, p) in shared_parts(space).items()} == widest


def test_options_have_weights_of_their_own_unless_elastic() -> None:
    first = {path.split(".")[2] for path in shared_parts(elastic("choice")) if path.startswith("stage1.0")}
    assert first == {f"MB{e}_K{k}{se}" for e in (1, 3) for k in (3, 5) for se in ("", "_SE")}
    assert {p.split(".")[2] for p in shared_parts(elastic()) if p.startswith("stage1.0")} == {"mbconv"}


def test_a_stabiliser_shares_with_no_other_option(small: Callable[[str], Space]) -> None:
    for name in ("nasbench101-chain", "nasbench201"):
        plain: Any = small(name)
        space = replace(plain, stabiliser="skip")
        more = set(shared_parts(space)) - set(shared_parts(plain))
        nodes = 5 * 3 if name == "nasbench101-chain" else 6 * 3
        assert len(more) == nodes
        assert not set(shared_parts(plain)) - set(shared_parts(space))


def test_every_layer_of_a_cell_space_fits(small: Callable[[str], Space]) -> None:
    space = small("nasbench101")
    shared, key = shared_parts(space), sharing_of(space).key
    for arch in space.sample(np.random.default_rng(0), 200).tolist():
        for layer in space.blueprint(tuple(arch)):
            for p in parts(layer):
                full = shared[f"{key(layer)}.{p.role}"][1]
                assert p.c_in <= full.c_in
                assert p.c_out <= full.c_out


def test_copies_share_with_the_blocks_whose_place_they_take() -> None:
    space = catalog.space("scalenet:released=true,width=0.25,resolution=32")
    stages = Counter(path.split(".")[0] for path in shared_parts(space) if path.endswith("MB6_K3_SE.project"))
    assert stages == {"stage2": 7, "stage3": 7, "stage4": 7, "stage5": 7, "stage6": 7, "stage7": 2}  # ceil(4 * 1.64)


def test_two_sided_tensors_are_as_wide_as_the_widest_and_the_narrowest() -> None:
    space = catalog.space("scalenet:released=true")
    shared = shared_parts(space)
    expand, project = (shared[f"stage3.0.MB6_K5_SE.{role}"][1] for role in ("expand", "project"))
    assert project.c_out == ceil_of(40 * 1.64) + 40
    assert expand.c_in == ceil_of(32 * 1.64) + 32
    assert project.c_in == expand.c_out == 6 * ceil_of(32 * 1.64) + 6 * 32
    assert shared["stem.CONV_K3.conv"][1].c_in == 3  # images are not scaled
    assert shared["classifier.LINEAR.linear"][1].c_out == 1000


def test_two_sides_use_every_channel_equally_often() -> None:
    narrow, wide = 5, 9
    full = Part("conv", 3, wide + narrow, 1, 1)
    used: Counter[int] = Counter()
    for width, slice_side in product(range(narrow, wide + 1), ("left", "right")):
        view = view_of(full._replace(c_out=width), full, slice_side)
        used.update(range(full.c_out)[view.out])
    assert used == dict.fromkeys(range(wide + narrow), wide - narrow + 1)


def test_views() -> None:
    full = Part("conv", 8, 12, 7, 4)
    assert view_of(full, full) == view_of(full, full, "right") == WHOLE
    small = full._replace(c_in=5, c_out=9, kernel=3)
    assert view_of(small, full) == (slice(0, 9), slice(0, 5), slice(2, 5))
    assert view_of(small, full, "right") == (slice(3, 12), slice(3, 8), slice(2, 5))
    depthwise = Part("depthwise", 12, 12, 5, 4, groups=12)
    assert view_of(Part("depthwise", 7, 7, 5, 4, groups=7), depthwise) == (slice(0, 7), slice(None), slice(None))


def test_spaces_without_a_supernet() -> None:
    with pytest.raises(InputError, match="efficientnet has no supernet"):
        sharing_of(catalog.space("efficientnet"))

    class Odd(Space):
        name, paper, sharing = "odd", "", "cell"

        @property
        def choices(self) -> tuple[Choice, ...]:
            return (Choice("a", (0, 1)),)

        def blueprint(self, arch: Arch) -> Blueprint:
            raise NotImplementedError

    with pytest.raises(InputError, match="odd has no supernet: it is neither an automaton"):
        layers_of(Odd())


def test_what_ends_a_branch_only_in_some_networks_does_not_count_as_residual() -> None:
    space = declare(
        name="mine", sharing="elastic", stem={"width": 8}, stages=[{"width": [8, 12], "depth": 2, "kernel": 3}]
    )
    residual = {path: bool(layer.shortcut) for path, (layer, _) in shared_parts(space).items() if "project" in path}
    assert residual == {"stage1.0.mbconv.project": False, "stage1.1.mbconv.project": True}
