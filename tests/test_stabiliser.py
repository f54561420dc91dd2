from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, cast

import pytest

from supernetic import catalog
from supernetic.blueprint import Layer
from supernetic.costs.macs import cost
from supernetic.errors import UnknownNameError
from supernetic.space import Arch, Space
from supernetic.stabiliser import is_stabiliser, stabilise
from supernetic.testing import check_space

SKIPPING = ("macro", "scarlet-s1", "scarlet-s2", "nasbench101-chain", "nasbench201")
NARROW = (6, 0, 6, 6, 1, 6) + (2,) * 13  # scarlet: skips where the width changes and where it does not
CELL = (1, 4, 2, 0, 4, 1)  # nasbench201: skip, pool, 1x1, none, pool, skip


def stabilised(space: Space, kind: str) -> Space:
    changed: Space = replace(cast(Any, space), stabiliser=kind)
    return changed


@pytest.mark.parametrize(("name", "kind"), [*product(SKIPPING, ("skip", "relu")), ("nasbench201", "skip+pool")])
def test_stabilised_spaces_are_spaces(name: str, kind: str, small: Callable[[str], Space]) -> None:
    check_space(stabilised(small(name), kind), n=50)


def test_the_map_keeps_stride_and_nominal_widths() -> None:
    plain = catalog.space("scarlet-s1").blueprint(NARROW)
    linear = catalog.space("scarlet-s1:stabiliser=skip").blueprint(NARROW)
    pairs = [(before, after) for before, after in zip(plain, linear, strict=True) if before.kind == "skip"]
    assert len(pairs) == 4
    for before, after in pairs:
        assert is_stabiliser(after)
        assert after[:1] + after[4:8] == (before.name, before.resolution, before.resolution_out, 1, before.stride)
    widths = [layer.c_out for layer in linear if layer.stage]
    assert widths == [32, 32, 40, 40, 40, 40] + [80] * 4 + [96] * 4 + [192] * 4 + [320]
    # Widths are as they would be without skips, so blocks behind them have their shortcuts.
    assert [x.shortcut for x in linear if x.name == "layer4"] == ["identity"]
    assert [x.shortcut for x in plain if x.name == "layer4"] == [""]


def test_macro_keeps_the_identities_that_open_a_stage() -> None:
    layers = catalog.space("macro:stabiliser=skip").blueprint((0,) * 8).layers
    assert [x.name for x in layers if is_stabiliser(x)] == ["layer1", "layer3", "layer4", "layer6", "layer7"]


@pytest.mark.parametrize(("kind", "per_cell"), [("", 0), ("skip", 2), ("skip+pool", 4), ("relu", 2)])
def test_cells(kind: str, per_cell: int) -> None:
    space = stabilised(catalog.space("nasbench201:cells=1"), kind)
    blueprint, plain = space.blueprint(CELL), catalog.space("nasbench201:cells=1").blueprint(CELL)
    maps = [x for x in blueprint if is_stabiliser(x)]
    assert len(maps) == 3 * per_cell
    assert {x.act for x in maps} <= {"relu" if kind == "relu" else ""}
    extra = sum(x.c_in * x.c_out * x.resolution**2 for x in maps)
    assert cost(blueprint).macs == cost(plain).macs + extra
    pools = {x.name for x in blueprint if x.kind == "avgpool"}
    assert pools == {f"cell{c}.{e}{'.pool' * (kind == 'skip+pool')}" for c in range(3) for e in ("0to2", "1to3")}


@pytest.mark.parametrize(
    ("name", "arch"), [("nasbench101-chain", (0, 2, 1, 2, 0)), ("macro", (1,) * 8), ("attentive", (0,) * 31)]
)
def test_nothing_else_looks_like_one(name: str, arch: Arch) -> None:
    assert not any(map(is_stabiliser, catalog.space(name).blueprint(arch)))


def test_widening() -> None:
    skip = Layer("a", "skip", 8, 8, 6, 3, stride=2, stage=1)
    assert stabilise(skip, "skip", 12) == skip._replace(kind="conv", c_out=12, norm=False)
    assert stabilise(skip, "relu") == skip._replace(kind="conv", norm=False, act="relu")


@pytest.mark.parametrize("name", SKIPPING)
def test_unknown_kinds(name: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown stabiliser 'skp': did you mean 'skip'"):
        catalog.space(f"{name}:stabiliser=skp")
    if name != "nasbench201":
        with pytest.raises(UnknownNameError, match=r"unknown stabiliser 'skip\+pool'"):
            catalog.space(f"{name}:stabiliser=skip+pool")
