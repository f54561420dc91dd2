"""Networks without their stabilisers compute the same, where that is possible; where it is not, the report says so."""

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from supernetic.blueprint import Blueprint, Layer
from supernetic.costs.macs import cost
from supernetic.derivation.fold import FoldReport, Removal, fold
from supernetic.errors import InputError
from supernetic.nn.network import Network, build
from supernetic.nn.norm import norms_of, recalibrate
from supernetic.space import Arch, Space
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench101 import NASBench101Chain
from supernetic.spaces.nasbench201 import NASBench201
from supernetic.spaces.scarlet import ScarletS1, ScarletS2
from supernetic.stabiliser import is_stabiliser
from supernetic.supernets.supernet import Supernet

MACRO = Macro(channels=4, resolution=8, head=16, stabiliser="skip")
SMALL: dict[str, Any] = {"resolution": 32, "width": 0.25, "classes": 10}  # widths 8, 8, 16, 24, 24, 48, 80
S1 = ScarletS1(**SMALL, stabiliser="skip")
S2 = ScarletS2(**SMALL, stabiliser="skip")
CHAIN = NASBench101Chain(channels=4, resolution=8, cells=1, stabiliser="skip")
CELLS = NASBench201(channels=4, resolution=8, cells=1, stabiliser="skip+pool")


def season(network: Network, dtype: torch.dtype = torch.float64) -> Network:
    """As if trained: BN weights and biases are not neutral, and the statistics fit."""
    generator = torch.Generator().manual_seed(5)
    for norm in norms_of(network):
        if norm.affine:
            torch.nn.init.uniform_(norm.weight, 0.5, 1.5, generator=generator)
            torch.nn.init.uniform_(norm.bias, -0.5, 0.5, generator=generator)
    network.to(dtype)
    recalibrate(network, [images(network, 16)])
    return network.eval()


def images(network: Network, n: int, seed: int = 1) -> Tensor:
    b, like = network.blueprint, next(network.parameters())
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, b.in_channels, b.resolution, b.resolution, generator=generator).to(like.dtype)


@lru_cache(maxsize=8)
def supernet_of(space: Space, **options: Any) -> Supernet:
    return Supernet(space, seed=3, **options)


def extract(space: Space, arch: Arch, dtype: torch.dtype = torch.float64, **options: Any) -> tuple[Network, Blueprint]:
    supernet = supernet_of(space, **options)
    return season(supernet.extract(arch), dtype), supernet.space.blueprint(arch)


def hows(report: FoldReport) -> dict[str, str]:
    return {r.layer: r.how for r in report.removals}


def chain(*layers: Layer) -> Blueprint:
    """Layers of 4 channels and side 6 between a stem and a classifier."""
    last = layers[-1]
    return Blueprint(
        (
            *layers,
            Layer("pool", "gap", last.c_out, last.c_out, last.resolution_out, 1),
            Layer("classifier", "linear", last.c_out, 3, 1, 1),
        )
    )


STEM = Layer("stem", "conv", 3, 4, 6, 6, 3, act="relu")
BOTTLENECK = Layer("open", "mbconv", 4, 4, 6, 6, 3, expansion=2, hidden=8, act="relu", stage=1)
SKIP = Layer("skip", "skip", 4, 4, 6, 6, stage=1)
ELS = SKIP._replace(kind="conv", norm=False)
RESIDUAL = BOTTLENECK._replace(name="residual", shortcut="identity")


def folded(*layers: Layer, weight: Tensor | None = None) -> FoldReport:
    """The report on a chain with a stabiliser, whose weight may be given."""
    network = season(build(chain(*layers), seed=0))
    if weight is not None:
        op = network.units(ELS)["conv"].op
        assert op is not None
        op.weight.data.copy_(weight[:, :, None, None])
    return fold(network, chain(*(SKIP if x == ELS else x for x in layers)))[1]


# --- where it is exact ------------------------------------------------------------------------------------------------

EXACT = [
    (MACRO, (1, 0, 2, 0, 0, 2, 0, 0), {1: "f", 3: "f", 4: "f", 6: "f", 7: "f"}),  # into opening blocks, the head
    (MACRO, (0, 0, 0, 1, 0, 1, 0, 1), {1: "f", 4: "f", 6: "c"}),  # the identity that opens is a linear convolution
    (MACRO, (1, 1, 1, 0, 1, 1, 1, 0), {3: "c", 7: "f"}),
    (S1, (6,) * 19, dict.fromkeys(range(19), "f")),  # strided and widening: a product of matrices for the head
    (S1, (0, 0, 0, 6, 1, 6, 0, 0, 6, 2, 0, 6, 0, 6, 0, 0, 6, 0, 6),
     {3: "c", 5: "f", 8: "c", 11: "c", 13: "f", 16: "c", 18: "f"}),
    (S1, (6, 0, 0, 0, 0, 0, 6, 6, 6, 6, 6, 6, 6, 6, 0, 0, 0, 0, 0), {0: "c"} | dict.fromkeys(range(6, 14), "f")),
    (S2, (7, 6, 7, 12, 12, 0, 11, 6, 6, 1, 8, 2, 6, 8, 6, 12, 9, 11, 10), {3: "c", 4: "c", 15: "c"}),  # SCARLET-C
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize(("space", "arch", "expected"), EXACT)
def test_folds_keep_the_outputs(
    space: Space, arch: Arch, expected: dict[int, str], dtype: torch.dtype, tolerance: float
) -> None:
    network, finished = extract(space, arch, dtype)
    before, state = network(images(network, 4)), {k: v.clone() for k, v in network.state_dict().items()}
    new, report = fold(network, finished)
    names = {"f": "forward", "c": "conjugation"}
    assert hows(report) == {f"layer{i}": names[how] for i, how in expected.items()}
    assert report.exact
    tolerance *= 1 + max(r.condition or 0 for r in report.removals) / 10  # an inverse costs digits
    assert report.relative < tolerance
    after = new(images(new, 4))
    assert (after - before).abs().max() < tolerance * before.abs().max()
    assert after.dtype == dtype
    assert not new.training
    assert all(torch.equal(v, state[k]) for k, v in network.state_dict().items())


def test_a_chain_of_cells_folds_into_projections_and_the_classifier() -> None:
    network, finished = extract(CHAIN, (0, 2, 1, 2, 2))
    new, report = fold(network, finished)
    # What stands before max pooling can't go anywhere; average pooling before the classifier lets it pass.
    assert hows(report) == {
        f"cell{c}.node{i}": "dropped" if i > 1 and c < 2 else "forward" for c in range(3) for i in (1, 3, 4)
    }
    network, finished = extract(CHAIN, (2, 2, 1, 2, 0))
    new, report = fold(network, finished)
    assert report.exact
    assert report.relative < 1e-10
    assert new.blueprint == finished


@pytest.mark.parametrize(("space", "n"), [(MACRO, 20), (S1, 8), (S2, 2)])
def test_random_networks_are_the_same_if_the_report_says_so(space: Space, n: int) -> None:
    supernet = supernet_of(space)
    seen = set()
    for row in space.sample(np.random.default_rng(1), n).tolist():
        arch = tuple(row)
        new, report = fold(season(supernet.extract(arch)), supernet.space.blueprint(arch))
        assert (report.relative < 1e-10) == report.exact
        finished = supernet.space.blueprint(arch)
        assert new.blueprint == finished
        assert not any(is_stabiliser(layer) for layer in new.blueprint)
        assert sum(p.numel() for p in new.parameters()) == cost(finished).params
        assert len(report.removals) == sum(is_stabiliser(layer) for layer in supernet.blueprint(arch))
        seen |= set(hows(report).values())
    assert "conjugation" in seen


def test_macs_are_those_of_the_finished_network() -> None:
    network, finished = extract(S1, (0, 6, 0, 6, 6, 0, 6, 6, 0, 0, *(6,) * 9))
    new, _ = fold(network, finished)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        new(images(new, 1))
    assert counter.get_total_flops() == 2 * cost(finished).macs


def test_pooling_and_strides_come_between() -> None:
    pool = Layer("average", "avgpool", 4, 4, 6, 6, 3, stage=1)
    strided, wide = ELS._replace(stride=2, resolution_out=3, c_out=7), SKIP._replace(stride=2, resolution_out=3)
    conv = Layer("last", "conv", 7, 5, 3, 3, 3, act="relu", stage=2)
    network = season(
        build(chain(STEM, strided, pool._replace(c_in=7, c_out=7, resolution=3, resolution_out=3), conv), seed=0)
    )
    finished = chain(STEM, wide, pool._replace(resolution=3, resolution_out=3), conv._replace(c_in=4))
    new, report = fold(network, finished)
    assert hows(report) == {"skip": "forward"}
    assert report.relative < 1e-10
    assert new.blueprint == finished


def test_nothing_to_fold() -> None:
    network = season(build(MACRO.blueprint((1,) * 8), seed=0))
    new, report = fold(network, network.blueprint)
    assert report == FoldReport((), 0.0, 0.0)
    assert all(torch.equal(v, network.state_dict()[k]) for k, v in new.state_dict().items())


# --- conjugation ------------------------------------------------------------------------------------------------------


def test_a_stabiliser_behind_the_opening_block_needs_no_inverse() -> None:
    singular = torch.ones(4, 4, dtype=torch.float64)
    report = folded(STEM, BOTTLENECK, ELS, RESIDUAL, weight=singular)
    assert report.removals == (Removal("skip", "conjugation"),)
    assert report.relative < 1e-10


def test_a_stabiliser_behind_a_residual_block_is_inverted() -> None:
    later, weight = RESIDUAL._replace(name="later"), torch.diag(torch.tensor([1.0, 2, 3, 40])).double()
    report = folded(STEM, BOTTLENECK, RESIDUAL, ELS, later, weight=weight)
    assert report.removals == (Removal("skip", "conjugation", pytest.approx(40)),)  # type: ignore[arg-type]
    assert report.relative < 1e-10
    weight[3, 3] = 0
    assert hows(folded(STEM, BOTTLENECK, RESIDUAL, ELS, later, weight=weight)) == {"skip": "dropped"}
    assert hows(folded(STEM, BOTTLENECK, RESIDUAL, ELS, weight=weight)) == {"skip": "forward"}


def test_the_lemma_without_shortcuts_is_wrong() -> None:
    """Folded into the block's first convolution only, as if there was no shortcut."""
    network = season(build(chain(STEM, BOTTLENECK, ELS, RESIDUAL), seed=0))
    finished = chain(STEM, BOTTLENECK, SKIP, RESIDUAL)
    naive = Network(finished).double().eval()
    state = network.state_dict()
    matrix = state.pop("skip.conv.op.weight").flatten(1)
    state["residual.expand.op.weight"] = (state["residual.expand.op.weight"].flatten(1) @ matrix)[:, :, None, None]
    naive.load_state_dict(state)
    x = images(network, 8)
    expected = network(x)
    assert (naive(x) - expected).abs().max() > 0.1 * expected.abs().max()
    right, _ = fold(network, finished)
    assert torch.allclose(right(x), expected, atol=1e-12)


def test_shortcuts_from_an_activation_leave_no_way_back() -> None:
    assert hows(folded(STEM, ELS, RESIDUAL)) == {"skip": "dropped"}
    assert hows(folded(STEM, RESIDUAL, ELS, RESIDUAL._replace(name="later"))) == {"skip": "dropped"}
    linear = STEM._replace(act="")
    assert hows(folded(linear, ELS, RESIDUAL)) == {"skip": "conjugation"}


def test_depthwise_readers_take_no_matrix() -> None:
    depthwise = BOTTLENECK._replace(name="depthwise", expansion=1, hidden=4)
    grouped = Layer("grouped", "conv", 4, 4, 6, 6, 3, groups=4, act="relu", stage=1)
    for reader in (depthwise, grouped, depthwise._replace(shortcut="identity")):
        assert hows(folded(STEM, ELS, reader)) == {"skip": "dropped"}
        report = folded(STEM, BOTTLENECK, ELS, reader)  # but what it reads may give it
        assert hows(report) == {"skip": "conjugation"}
        assert report.relative < 1e-10
    blocked = folded(STEM, BOTTLENECK, depthwise._replace(shortcut="identity"), ELS, RESIDUAL)
    assert hows(blocked) == {"skip": "dropped"}  # V E^-1 would not be depthwise


BASIC = Layer("basic", "residual", 4, 5, 6, 3, 3, 2, act="relu", shortcut="project", stage=2)


@pytest.mark.parametrize("reader", [BASIC, BASIC._replace(shortcut="")], ids=lambda x: x.shortcut)
def test_a_residual_block_that_projects_its_input_takes_the_matrix(reader: Layer) -> None:
    report = folded(STEM, ELS, reader)
    assert hows(report) == {"skip": "forward"}
    assert report.relative < 1e-10


def test_a_residual_block_that_passes_its_input_on_does_not() -> None:
    same = BASIC._replace(c_out=4, resolution_out=6, stride=1, shortcut="identity")
    pooled = BASIC._replace(c_out=4)  # a shortcut without a convolution
    for reader in (same, pooled):
        assert hows(folded(STEM, ELS, reader)) == {"skip": "dropped"}
        report = folded(STEM, BOTTLENECK, ELS, reader)
        assert hows(report) == {"skip": "conjugation"}
        assert report.relative < 1e-10
    # Behind its activation there is no way back, whatever its shortcut.
    for block in (same, same._replace(shortcut="")):
        assert hows(folded(STEM, BOTTLENECK, block, ELS, RESIDUAL)) == {"skip": "dropped"}


def test_means_of_turned_bns_are_those_of_their_inputs() -> None:
    network = season(build(chain(STEM, BOTTLENECK, ELS, RESIDUAL), seed=0))
    new, _ = fold(network, chain(STEM, BOTTLENECK, SKIP, RESIDUAL))
    name = "open.project.norm.running_mean"
    mean = new.state_dict()[name].clone()
    recalibrate(new, [images(network, 16)])
    assert torch.allclose(new.state_dict()[name], mean)


# --- where it is not --------------------------------------------------------------------------------------------------


def test_widening_before_a_residual_block_is_dropped() -> None:
    arch = (0, 0, 6, 0, 0, 0, 0, 6, 0, *(0,) * 10)
    network, finished = extract(S1, arch)
    new, report = fold(network, finished)
    assert hows(report) == {"layer2": "dropped", "layer7": "conjugation"}
    assert not report.exact
    assert report.relative > 0.01
    # A plain skip takes its place: the expand convolution has the weights of the first channels.
    expand = "layer3.expand.op.weight"
    assert torch.equal(new.state_dict()[expand], network.state_dict()[expand][:, : S1._channels(32)])


def test_cells_with_activation_first_are_dropped() -> None:
    network, finished = extract(CELLS, (1, 4, 2, 0, 3, 1))
    new, report = fold(network, finished)
    edges = ("0to1", "0to2", "2to3")  # skip, pool, skip
    assert hows(report) == {f"cell{c}.{e}": "dropped" for c in range(3) for e in edges}
    assert new.blueprint == finished
    assert report.relative > 0.01


def test_identities_leave_no_trace_anywhere() -> None:
    network, finished = extract(CELLS, (1, 4, 2, 0, 3, 1), stabiliser="identity")
    _, report = fold(network, finished)
    assert report.exact
    assert report.relative < 1e-12


@pytest.mark.parametrize(
    ("space", "arch"), [(MACRO, (1, 0, 1, 0, 1, 1, 0, 1)), (S1, (0, 0, 0, 6, 0, 0, 0, 0, 6, *(0,) * 9, 6))]
)
def test_the_counter_example_with_relu_is_not_the_same(space: Any, arch: Arch) -> None:
    network, finished = extract(replace(space, stabiliser="relu"), arch)
    new, report = fold(network, finished)
    assert set(hows(report).values()) == {"dropped"}
    assert report.relative > 0.01
    assert new.blueprint == finished


def test_no_linear_map_is_a_relu() -> None:
    """One channel, E = -1: max(0, -x), and nothing that is linear in x."""
    one = Layer("stem", "conv", 1, 1, 2, 2, norm=False)
    els = Layer("skip", "conv", 1, 1, 2, 2, norm=False, act="relu", stage=1)
    network = build(chain(one, els), seed=0)
    for unit, value in {"stem.conv": 1.0, "skip.conv": -1.0, "classifier.linear": 1.0}.items():
        network.state_dict()[f"{unit}.op.weight"].fill_(value)
    x = torch.tensor([-2.0, 2.0]).reshape(2, 1, 1, 1).expand(2, 1, 2, 2)
    assert network(x)[:, 0].tolist() == [2, 0]
    new, report = fold(network, chain(one, els._replace(kind="skip", norm=True, act="")), probe=x)
    assert new(x)[:, 0].tolist() == [-2, 2]
    assert report == FoldReport((Removal("skip", "dropped"),), 4.0, 2.0)


# --- reports and refusals ---------------------------------------------------------------------------------------------


def test_report() -> None:
    report = FoldReport((Removal("layer1", "forward"), Removal("layer3", "conjugation", 40.0)), 3e-7, 1.5e-6)
    assert report.lines() == [
        "layer1: forward",
        "layer3: conjugation, condition 40",
        "the same network: logits differ by 3e-07, 1.5e-06 of the largest",
    ]
    record = json.loads(json.dumps(report.to_json()))
    assert record["removals"][1] == {"layer": "layer3", "how": "conjugation", "condition": 40.0}
    assert record["exact"]
    dropped = FoldReport((Removal("layer1", "dropped"),), 1.0, 0.5)
    assert dropped.lines()[-1].startswith("not the same network")


def test_a_network_in_training_stays_so() -> None:
    network, finished = extract(MACRO, (1, 0, 1, 1, 1, 1, 1, 1))
    assert fold(network.train(), finished)[0].training
    assert network.training


def test_what_cannot_be() -> None:
    network, finished = extract(MACRO, (1, 0, 1, 1, 1, 1, 1, 1))
    with pytest.raises(InputError, match=r"layer0: CONV_K1 of the finished network can't come from MB3_K3"):
        fold(network, Macro(channels=4, resolution=8, head=16).blueprint((0,) * 8))
    with pytest.raises(InputError, match="layer1: CONV_K1"):
        fold(network, network.blueprint)
    with pytest.raises(InputError, match="larger"):
        fold(network, Macro(channels=8, resolution=8, head=16).blueprint((1, 0, 1, 1, 1, 1, 1, 1)))
    with pytest.raises(InputError, match=r"layer open: MB2_K3 of the finished network can't come from nothing"):
        fold(build(chain(STEM, ELS), seed=0), chain(STEM, SKIP, BOTTLENECK))
    network.state_dict()["layer1.conv.op.weight"].fill_(float("nan"))
    with pytest.raises(InputError, match="stabiliser layer1: weights must be finite"):
        fold(network, finished)
