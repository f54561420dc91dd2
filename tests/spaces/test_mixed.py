from collections.abc import Iterator
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from supernetic import catalog
from supernetic.blueprint import Blueprint, Layer
from supernetic.costs.budget import budget_sampler
from supernetic.costs.macs import cost
from supernetic.costs.table import costs_of
from supernetic.errors import ArchError, InputError
from supernetic.exporters.card import Card
from supernetic.exporters.model import load_model, save_model
from supernetic.exporters.onnx import have_onnx, run, session
from supernetic.nn.network import build
from supernetic.nn.norm import recalibrate
from supernetic.objective import parse_where
from supernetic.space import Arch
from supernetic.spaces.mixed import WIDTHS, Mixed
from supernetic.supernets.supernet import Supernet

EXAMPLE = "s2-p1.0x2-r1.5x1-m0.75x3"


def draw(space: Mixed, n: int, seed: int = 0) -> Iterator[Arch]:
    return (tuple(a) for a in space.sample(np.random.default_rng(seed), n).tolist())


def test_size_and_encoding() -> None:
    space = Mixed()
    assert space.size == 3 * (3 * 7 * 3) ** 3 * 2 == 1_500_282
    assert [c.name for c in space.choices[:4]] == ["stem", "stage1.kind", "stage1.width", "stage1.depth"]
    assert space.choices[-1].name == "head"
    assert sorted(g for slot in space.slots for g in slot) == list(range(11))


@pytest.mark.parametrize(
    ("resolution", "stages"),
    [(1, 1), (8, 1), (16, 2), (22, 2), (23, 3), (28, 3), (32, 3), (45, 3), (46, 4), (64, 4), (90, 4), (91, 5), (128, 5),
     (181, 5), (182, 6), (224, 6), (512, 6)],
)  # fmt: skip
def test_stages_follow_from_the_resolution(resolution: int, stages: int) -> None:
    space = Mixed(resolution=resolution)
    assert (space.stages, len(space.choices), len(space.slots)) == (stages, 2 + 3 * stages, 2 + stages)
    assert space.blueprint((0,) * len(space.choices)).resolution == resolution


def test_the_last_map_has_three_to_six_pixels() -> None:
    for resolution in range(6, 363):
        space = Mixed(resolution=resolution)
        for stem in (1, 2):
            pool = space.blueprint((stem, *[0] * (len(space.choices) - 1))).layers[-2]
            assert 3 <= pool.resolution <= 6


def test_a_network_by_hand() -> None:
    space = Mixed()
    assert space.blueprint(space.parse(EXAMPLE)) == Blueprint(
        (
            Layer("stem.s2", "conv", 3, 16, 32, 16, 3, 2, act="relu"),
            Layer("stage1.0", "conv", 16, 16, 16, 16, 3, act="relu", stage=1),
            Layer("stage1.1", "conv", 16, 16, 16, 16, 3, act="relu", stage=1),
            Layer("stage2.0", "residual", 16, 48, 16, 8, 3, 2, act="relu", shortcut="project", stage=2),
            Layer("stage3.0", "mbconv", 48, 48, 8, 4, 3, 2, 4, 192, act="relu", stage=3),
            Layer("stage3.1", "mbconv", 48, 48, 4, 4, 3, 1, 4, 192, act="relu", shortcut="identity", stage=3),
            Layer("stage3.2", "mbconv", 48, 48, 4, 4, 3, 1, 4, 192, act="relu", shortcut="identity", stage=3),
            Layer("head.pool", "gap", 48, 48, 4, 1),
            Layer("classifier", "linear", 48, 10, 1, 1),
        )
    )


def test_a_narrow_stem_and_a_head() -> None:
    """The first stage halves the image, and has weights of its own."""
    space = Mixed(resolution=16)
    assert space.blueprint(space.parse("n1-p1.0x2-m0.5x1-h4")) == Blueprint(
        (
            Layer("stem.n1", "conv", 3, 8, 16, 16, 3, act="relu"),
            Layer("stage1.n0", "conv", 8, 16, 16, 8, 3, 2, act="relu", stage=1),
            Layer("stage1.n1", "conv", 16, 16, 8, 8, 3, act="relu", stage=1),
            Layer("stage2.0", "mbconv", 16, 16, 8, 4, 3, 2, 4, 64, act="relu", stage=2),
            Layer("head.conv", "conv", 16, 128, 4, 4, 1, act="relu"),
            Layer("head.pool", "gap", 128, 128, 4, 1),
            Layer("classifier", "linear", 128, 10, 1, 1),
        )
    )


def test_shortcuts_of_a_first_stage() -> None:
    """Its stride is 1, so only the width decides."""
    space = Mixed(resolution=8)
    kinds = {
        text: [(x.shortcut, x.c_in, x.c_out) for x in space.blueprint(space.parse(f"s1-{text}")) if x.stage]
        for text in ("r1.0x2", "r0.5x2", "m1.0x1", "m2.0x1")
    }
    assert kinds == {
        "r1.0x2": [("identity", 16, 16), ("identity", 16, 16)],
        "r0.5x2": [("project", 16, 8), ("identity", 8, 8)],
        "m1.0x1": [("identity", 16, 16)],
        "m2.0x1": [("", 16, 32)],
    }


@pytest.mark.parametrize("resolution", [8, 15, 32])
def test_costs_are_those_of_the_module_that_runs(resolution: int) -> None:
    """Counted by hooks on the convolutions and linear maps; the table agrees."""
    space = Mixed(channels=8, resolution=resolution, in_channels=1, classes=7)
    archs = list(draw(space, 12))
    table = costs_of(space, np.array(archs, dtype=np.int8)), costs_of(space, np.array(archs, dtype=np.int8), "params")
    for i, arch in enumerate(archs):
        network = build(space.blueprint(arch), seed=0).eval()
        counts: list[int] = []

        def count(module: nn.Module, _: object, output: torch.Tensor, counts: list[int] = counts) -> None:
            weight = module.get_parameter("weight")
            counts.append(weight[0].numel() * output[0].numel())

        for module in network.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                module.register_forward_hook(count)
        with torch.no_grad():
            network(torch.zeros(1, 1, resolution, resolution))
        params = sum(p.numel() for p in network.parameters())
        found = cost(space.blueprint(arch))
        assert (found.macs, found.params) == (sum(counts), params) == (table[0][i], table[1][i])


def test_budgets_are_counted_exactly() -> None:
    space = Mixed(channels=4, resolution=16)
    everything = np.array(list(product(*(range(len(c.options)) for c in space.choices))), dtype=np.int8)
    assert len(everything) == space.size == 6 * 63**2
    macs = costs_of(space, everything)
    limit = int(np.median(macs))
    sampler = budget_sampler(space, [parse_where(f"macs<={limit}")])
    assert sampler.count is not None
    assert sampler.count[1] == (macs <= limit).sum()
    archs, _ = sampler.sample(np.random.default_rng(0), 50)
    assert (costs_of(space, archs) <= limit).all()


# --- notation ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resolution", [8, 32, 64])
def test_names_are_read_back(resolution: int) -> None:
    space = Mixed(resolution=resolution)
    for arch in draw(space, 200):
        assert space.parse(space.format(arch)) == arch


def test_names() -> None:
    space = Mixed()
    arch = (1, 0, 3, 1, 1, 5, 0, 2, 1, 2, 0)
    assert space.format(arch) == EXAMPLE
    assert space.parse(f" {EXAMPLE.upper()} ") == arch
    assert space.parse("s2 p1x2 r1.5x1 m.75x3") == arch
    assert space.parse(",".join(map(str, arch))) == arch
    assert space.format((*arch[:-1], 1)) == f"{EXAMPLE}-h4"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s3-p1.0x2-r1.5x1-m0.75x3", "choice stem must lie in 0..2"),
        ("s2-q1.0x2-r1.5x1-m0.75x3", "choice stage1.kind must lie in 0..2"),
        ("s2-p1.0x2-r1.3x1-m0.75x3", "choice stage2.width must lie in 0..6"),
        ("s2-p1.0x2-r1.5x1-m0.75x4", "choice stage3.depth must lie in 0..2"),
        ("s2-p1.0x2-r1.5x1-m0.75x3-h3", "choice head must lie in 0..1"),
        ("s2-p1.0x2-r1.5x1", "such as 's1-p0.5x1-p0.5x1-p0.5x1'"),
        ("s2-p1.0x2-r1.5-m0.75x3", "11 integers"),
        ("s2-p1..0x2-r1.5x1-m0.75x3", "11 integers"),
        ("s2-p.x2-r1.5x1-m0.75x3", "11 integers"),
        ("sx-p1.0x2-r1.5x1-m0.75x3", "11 integers"),
        ("", "11 integers"),
    ],
)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(ArchError, match=message):
        Mixed().parse(text)


@pytest.mark.parametrize("field", ["channels", "resolution"])
def test_sizes_are_positive(field: str) -> None:
    with pytest.raises(InputError, match=f"mixed: {field} must be positive, got 0"):
        Mixed(**{field: 0})


# --- widths -----------------------------------------------------------------------------------------------------------


def widths(space: Mixed, stage: int) -> list[int]:
    return [space.width(stage, factor) for factor in WIDTHS]


def test_widths_are_multiples_of_four() -> None:
    assert [widths(Mixed(), s) for s in (1, 2)] == [[8, 12, 16, 16, 20, 24, 32], [16, 24, 28, 32, 40, 48, 64]]
    assert widths(Mixed(), 3) == [32, 48, 56, 64, 80, 96, 128]
    assert widths(Mixed(channels=4), 1) == [4, 4, 4, 4, 8, 8, 8]
    assert widths(Mixed(channels=1), 1) == [4] * 7


def test_encodings_of_equal_networks_have_one_representative() -> None:
    space = Mixed(channels=4, resolution=16)
    networks: dict[Blueprint, set[Arch]] = {}
    for arch in product(*(range(len(c.options)) for c in space.choices)):
        networks.setdefault(space.blueprint(arch), set()).add(space.canonical(arch))
    assert all(len(canonical) == 1 for canonical in networks.values())
    assert len(networks) == len(set.union(*networks.values())) < space.size
    assert len(networks) == 6 * prod(3 * 3 * len(set(widths(space, s))) for s in (1, 2))
    assert Mixed().canonical((1, 0, 3, 1, 1, 3, 0, 2, 1, 2, 0)) == (1, 0, 2, 1, 1, 3, 0, 2, 1, 2, 0)


# --- weights ----------------------------------------------------------------------------------------------------------


def test_kinds_and_strides_of_the_stem_have_weights_of_their_own() -> None:
    supernet = Supernet(Mixed(channels=8, resolution=16), seed=0)
    names = {n.removesuffix(".op.weight") for n, _ in supernet.named_parameters() if n.endswith("op.weight")}
    assert {n for n in names if n.startswith(("stem", "stage1.0"))} == {
        "stem.s1.conv.conv", "stem.s2.conv.conv", "stem.n1.conv.conv", "stage1.0.conv.conv",
        "stage1.0.residual.conv1", "stage1.0.residual.conv2", "stage1.0.residual.shortcut",
        "stage1.0.mbconv.expand", "stage1.0.mbconv.depthwise", "stage1.0.mbconv.project",
    }  # fmt: skip
    assert supernet.get_parameter("stage2.0.residual.conv1.op.weight").shape == (32, 16, 3, 3)


def test_a_network_of_the_supernet_has_the_first_channels() -> None:
    space = Mixed(channels=8, resolution=16)
    supernet = Supernet(space, seed=0).eval()
    arch = space.parse("s2-m0.5x1-r0.75x2")
    network = supernet.extract(arch)
    shared, own = (
        model.get_parameter(f"{name}.op.weight")
        for model, name in ((supernet, "stage2.0.residual.shortcut"), (network, "stage2.0.shortcut"))
    )
    assert torch.equal(own, shared[:12, :4])
    conv2 = supernet.get_parameter("stage2.1.residual.conv2.op.weight")
    assert torch.equal(network.get_parameter("stage2.1.conv2.op.weight"), conv2[:12, :12])
    x = torch.randn(2, 3, 16, 16)
    torch.testing.assert_close(supernet(x, arch), network(x))


@pytest.mark.skipif(not have_onnx(), reason="needs the extra export")
def test_a_model_is_exported_and_loaded(tmp_path: Path) -> None:
    space = Mixed(channels=4, resolution=15)
    text = "s1-r1.0x2-r1.5x2"
    network = build(space.blueprint(space.parse(text)), seed=0)
    recalibrate(network, [torch.randn(16, 3, 15, 15)])
    network.eval()
    costs = cost(network.blueprint)
    card = Card(
        name="model-1", task="Ten things.", classes=tuple("abcdefghij"), resolution=15, channels=3, mean=(0.5,) * 3,
        std=(0.2,) * 3, arch=text, space="mixed", macs=costs.macs, params=costs.params,
    )  # fmt: skip
    save_model(tmp_path / "model", network, card)
    loaded = load_model(tmp_path / "model")
    assert loaded.blueprint == network.blueprint
    x = torch.randn(3, 3, 15, 15)
    with torch.inference_mode():
        expected = network(x)
        assert torch.equal(loaded(x), expected)
    logits = run(session(tmp_path / "model" / "model.onnx"), x.numpy())
    torch.testing.assert_close(torch.from_numpy(logits), expected, rtol=1e-4, atol=1e-5)


def test_regular_networks_have_stages_that_are_alike() -> None:
    space = Mixed()
    shapes = space.regular()
    assert len({(a[0], a[1:-1:3], a[3:-1:3], a[-1]) for shape in shapes for a in shape[:1]}) == len(shapes)
    for shape in shapes:
        assert len({(a[0], a[1:-1:3], a[3:-1:3], a[-1]) for a in shape}) == 1
        for arch in shape:
            space.check(arch)
            kinds, widths, depths = arch[1:-1:3], arch[2:-1:3], arch[3:-1:3]
            assert len(set(kinds[1:])) == len(set(depths[1:])) == 1
            assert kinds[0] == kinds[1] or (kinds[0], depths[0]) == (0, 0)  # a plain convolution before bottlenecks
            assert max(widths) - min(widths) <= 1
            assert arch[-1] == (kinds[1] == 2)  # bottlenecks have a head
    names = [space.format(arch) for shape in shapes for arch in shape]
    assert "s2-r1.0x1-r1.0x1-r0.875x1" in names
    assert "n1-p0.75x1-m0.75x3-m0.875x3-h4" in names
    assert "n1-p0.875x1-m0.75x3-m0.875x3-h4" in names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("text", "limit"),
    [("mixed:channels=8,resolution=28,in_channels=1", 1e6), ("mixed:channels=16", 3e6), ("mixed:resolution=96", 30e6)],
)
def test_regular_networks_use_up_a_limit(text: str, limit: float) -> None:
    space = catalog.space(text)
    assert isinstance(space, Mixed)
    macs = [costs_of(space, np.array(shape, dtype=np.int8)) for shape in space.regular()]
    filled = [float(of[of <= limit].max()) / limit for of in macs if (of <= limit).any()]
    assert len(filled) >= 15
    assert np.median(filled) > 0.95
