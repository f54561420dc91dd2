from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
import torch

from supernetic import catalog
from supernetic.blueprint import Blueprint, Layer
from supernetic.costs.macs import cost
from supernetic.costs.table import costs_of
from supernetic.errors import BudgetError, InputError
from supernetic.networks.controls import (
    MIN_MAP_PIXELS,
    largest,
    mobilenet,
    mobilenet_v2,
    plain_network,
    random_at,
    resnet,
)
from supernetic.nn.network import build
from supernetic.objective import parse_where
from supernetic.space import Archs
from supernetic.spaces.macro import Macro

SPACE = Macro(channels=8, resolution=15, head=32)
ALL = np.array(list(product(range(3), repeat=8)), dtype=np.int8)
MACS = costs_of(SPACE, ALL)


def macs_of(arch: tuple[int, ...]) -> int:
    return cost(SPACE.blueprint(arch)).macs


def test_mobilenet_v2_is_the_published_one() -> None:
    found = cost(mobilenet_v2(1.0, 224, 1000))
    assert round(found.macs / 1e6) == 301  # the paper: 300 M
    assert found.params == 3_504_872  # the paper: 3.4 M; as built by torchvision
    assert [layer.label for layer in mobilenet_v2(1.0, 224, 1000)][:3] == ["CONV_K3", "MB1_K3", "MB6_K3"]
    assert round(cost(mobilenet_v2(1.4, 224, 1000)).macs / 1e6) == pytest.approx(585, rel=0.01)
    assert cost(mobilenet_v2(1.4, 224, 1000)).params == pytest.approx(6.9e6, rel=0.12)


@pytest.mark.parametrize("budget", [1e6, 4e6, 10e6, 60e6, 300e6])
@pytest.mark.parametrize("resolution", [28, 32])
def test_a_mobilenet_fits_its_budget_and_the_next_wider_one_does_not(budget: float, resolution: int) -> None:
    made = mobilenet(budget, resolution, 10, 1)
    assert cost(made).macs <= budget
    early = made.layers[0].stride == 2
    widths = {cost(mobilenet_v2(w, resolution, 10, 1, early)).macs for w in np.linspace(1 / 64, 3, 3000)}
    assert cost(made).macs == max(m for m in widths if m <= budget)
    last = made.layers[-2]
    assert last.resolution >= MIN_MAP_PIXELS
    assert (made.resolution, made.in_channels, made.classes) == (resolution, 1, 10)
    assert build(made, seed=0).eval()(torch.zeros(2, 1, resolution, resolution)).shape == (2, 10)


def test_large_images_keep_all_strides() -> None:
    assert mobilenet_v2(1.0, 224, 10).layers[-2].resolution == 7
    assert mobilenet_v2(1.0, 32, 10).layers[0].stride == 1
    assert mobilenet_v2(1.0, 32, 10).layers[-2].resolution == 4
    assert mobilenet_v2(1.0, 32, 10, early=True).layers[0].stride == 2


def test_a_budget_below_the_smallest_mobilenet_is_named() -> None:
    with pytest.raises(BudgetError, match=r"28 pixels fits into 100K MACs: the narrowest has \d+\.\dK"):
        mobilenet(1e5, 28, 10, 1)


def widened(network: Blueprint) -> Blueprint:
    """The same network with one channel more in the first stage, two in the second, four in the third, ..."""
    width = network.layers[0].c_out

    def more(channels: int) -> int:
        return channels // width * (width + 1)

    stem, *body, last = network.layers
    middle = [layer._replace(c_in=more(layer.c_in), c_out=more(layer.c_out)) for layer in body]
    return Blueprint((stem._replace(c_out=width + 1), *middle, last._replace(c_in=more(last.c_in))))


@pytest.mark.parametrize("control", [plain_network, resnet])
@pytest.mark.parametrize(
    ("budget", "resolution", "channels", "maps"),
    [
        (1e6, 28, 1, [14, 7, 4]),
        (3e6, 32, 3, [16, 8, 4]),
        (1e6, 20, 1, [20, 10, 5]),  # the stem keeps small images as they are
        (0.7e6, 15, 3, [15, 8, 4]),
        (20e6, 96, 3, [48, 24, 12, 6]),
        (300e6, 224, 3, [112, 56, 28, 14, 7, 4]),
    ],
)
def test_plain_and_residual_networks_are_as_wide_as_the_budget_allows(
    control: Callable[..., Blueprint], budget: float, resolution: int, channels: int, maps: list[int]
) -> None:
    made = control(budget, resolution, 10, channels)
    assert cost(made).macs <= budget < cost(widened(made)).macs
    assert list(dict.fromkeys(layer.resolution_out for layer in made if layer.stage)) == maps
    assert (made.resolution, made.in_channels, made.classes) == (resolution, channels, 10)
    network = build(made, seed=0)
    logits = network(torch.randn(2, channels, resolution, resolution))
    assert logits.shape == (2, 10)
    logits.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())


def test_a_plain_network_is_six_convolutions_behind_a_stem() -> None:
    made = plain_network(3e6, 32, 10)
    shapes = [(layer.kind, layer.c_in, layer.c_out, layer.kernel, layer.stride, layer.act) for layer in made]
    assert shapes == [
        ("conv", 3, 15, 3, 2, "relu"),
        ("conv", 15, 15, 3, 1, "relu"),
        ("conv", 15, 15, 3, 1, "relu"),
        ("conv", 15, 30, 3, 2, "relu"),
        ("conv", 30, 30, 3, 1, "relu"),
        ("conv", 30, 60, 3, 2, "relu"),
        ("conv", 60, 60, 3, 1, "relu"),
        ("gap", 60, 60, 1, 1, ""),
        ("linear", 60, 10, 1, 1, ""),
    ]
    stages = 2 * 16**2 * 15 * 15 + 8**2 * (15 * 30 + 30 * 30) + 4**2 * (30 * 60 + 60 * 60)
    assert cost(made).macs == 9 * (16**2 * 3 * 15 + stages) + 60 * 10


def test_a_resnet_has_one_basic_block_a_stage() -> None:
    made = resnet(1e6, 28, 10, 1)
    width = made.layers[0].c_out
    assert [layer.name for layer in made] == [
        "stem",
        *("stage1.conv1", "stage1.conv2", "stage1.sum"),
        *("stage2.conv1", "stage2.conv2", "stage2.shortcut", "stage2.sum"),
        *("stage3.conv1", "stage3.conv2", "stage3.shortcut", "stage3.sum"),
        *("head.pool", "classifier"),
    ]
    by_name = {layer.name: layer for layer in made}
    assert by_name["stage1.sum"].inputs == ("stage1.conv2", "stem")
    assert by_name["stage2.sum"].inputs == ("stage2.conv2", "stage2.shortcut")
    shortcut = by_name["stage2.shortcut"]
    assert (shortcut.inputs, shortcut.kernel, shortcut.stride, shortcut.act) == (("stage1.sum",), 1, 2, "")
    assert (shortcut.c_in, shortcut.c_out) == (width, 2 * width)
    acts = [by_name[f"stage3.{role}"].act for role in ("conv1", "conv2", "shortcut", "sum")]
    assert acts == ["relu", "", "", "relu"]


@pytest.mark.parametrize(("control", "what"), [(plain_network, "plain network"), (resnet, "ResNet")])
def test_a_budget_below_the_narrowest_stack_is_named(control: Callable[..., Blueprint], what: str) -> None:
    with pytest.raises(
        BudgetError, match=rf"no {what} for .* 28 pixels .* 100K MACs: the narrowest has 1\d\d"
    ) as error:
        control(1e5, 28, 10, 1)
    least = float(str(error.value).rpartition(" ")[2].removesuffix("K")) * 1e3
    assert control(least + 100, 28, 10, 1).layers[0].c_out == 4


def test_random_networks_have_the_same_macs() -> None:
    rng = np.random.default_rng(0)
    target = int(np.median(MACS))
    found = [random_at(SPACE, target, rng) for _ in range(40)]
    assert all(abs(macs_of(a) - target) <= 0.05 * target for a in found)
    assert len(set(found)) > 20
    again = np.random.default_rng(0)
    assert [random_at(SPACE, target, again) for _ in range(40)] == found


def test_the_window_is_widened_where_it_is_empty() -> None:
    gaps = np.diff(np.unique(MACS))
    at = int(np.argmax(gaps))
    lower = int(np.unique(MACS)[at])
    middle = lower + int(gaps[at]) / 2
    found = random_at(SPACE, middle, np.random.default_rng(0), tolerance=1e-6)
    assert abs(macs_of(found) - middle) < 2 * gaps[at]


def test_random_networks_obey_all_constraints() -> None:
    target = int(np.median(MACS))
    where = [parse_where(f"cost/macs<={target}"), parse_where("cost/params<=30K"), parse_where("valid/accuracy>=90")]

    def few(archs: Archs) -> npt.NDArray[np.bool_]:
        return np.asarray(archs[:, 0] == 2)

    for seed in range(10):
        arch = random_at(SPACE, target, np.random.default_rng(seed), where=where, feasible=few)
        assert 0.9 * target <= macs_of(arch) <= target
        assert cost(SPACE.blueprint(arch)).params <= 30_000
        assert arch[0] == 2
    with pytest.raises(InputError, match="params"):
        random_at(SPACE, target, np.random.default_rng(0), where=[parse_where("cost/params<=1K")])
    with pytest.raises(InputError, match="positive, got 0"):
        random_at(SPACE, target, np.random.default_rng(0), tolerance=0)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_largest_network_is_the_largest_there_is(share: float) -> None:
    limit = int(np.quantile(MACS, share))
    found = largest(SPACE, [parse_where(f"cost/macs<{limit}")])
    assert macs_of(found) == MACS[limit > MACS].max()


def test_the_largest_under_several_constraints() -> None:
    params = costs_of(SPACE, ALL, "params")
    limit = int(np.quantile(params, 0.3))
    where = [parse_where(f"params<={limit}"), parse_where(f"macs<={int(np.quantile(MACS, 0.95))}")]
    good = (params <= limit) & (np.quantile(MACS, 0.95) >= MACS)
    assert macs_of(largest(SPACE, where)) == MACS[good].max()

    def slow(archs: Archs) -> npt.NDArray[np.bool_]:
        return np.asarray((archs == 2).sum(axis=1) <= 3)

    assert macs_of(largest(SPACE, where, feasible=slow)) == MACS[good & slow(ALL)].max()


@dataclass(frozen=True)
class Table:
    """Milliseconds that do not follow MACs: a block with the larger kernel takes 1 ms, others 0.1 ms."""

    name: str = "latency/ms"
    scale: int = 1000
    base: int = 500

    def of(self, layer: Layer) -> int:
        return (1000 if layer.kernel == 5 else 100) if layer.kind == "mbconv" else 0


def test_limits_on_measured_latency() -> None:
    latency = 0.5 + (ALL == 2).sum(axis=1) + 0.1 * (ALL == 1).sum(axis=1)
    where = [parse_where("latency/ms<=2.8")]
    found = largest(SPACE, where, layer_cost=Table())
    assert macs_of(found) == MACS[latency < 2.81].max()
    assert largest(SPACE, where) == (2,) * 8  # nothing is known of latency without its table
    target = int(np.median(MACS))
    for seed in range(5):
        arch = random_at(SPACE, target, np.random.default_rng(seed), where=where, layer_cost=Table())
        assert arch.count(2) <= 2
        assert abs(macs_of(arch) - target) <= 0.05 * target


def test_the_largest_of_all_and_none() -> None:
    assert largest(SPACE) == (2,) * 8
    with pytest.raises(BudgetError, match="no architecture has macs<=1K"):
        largest(SPACE, [parse_where("macs<=1K")])
    with pytest.raises(BudgetError, match="draws satisfies"):
        largest(SPACE, feasible=lambda archs: np.zeros(len(archs), dtype=bool))


def test_a_space_that_is_no_automaton() -> None:
    space = catalog.space("nasbench101:channels=8,resolution=8,cells=1")
    found = largest(space, [parse_where("macs<=300K")])
    assert 270e3 < cost(space.blueprint(found)).macs <= 300e3
