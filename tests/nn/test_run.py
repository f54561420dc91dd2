import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from supernetic import build, catalog
from supernetic.blueprint import Blueprint, Layer
from supernetic.errors import InputError
from supernetic.nn.run import Parts, Program, Regularisation, run


def conv(c_in: int, c_out: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> Callable[[Tensor], Tensor]:
    weight = torch.randn(c_out, c_in // groups, kernel, kernel)
    return lambda x: F.conv2d(x, weight, stride=stride, padding=kernel // 2, groups=groups)


def images(channels: int = 4, resolution: int = 6, n: int = 2) -> Tensor:
    torch.manual_seed(0)
    return torch.randn(n, channels, resolution, resolution)


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        ("", lambda x: x),
        ("relu", lambda x: x.clamp(min=0)),
        ("relu6", lambda x: x.clamp(0, 6)),
        ("hswish", lambda x: x * (x + 3).clamp(0, 6) / 6),
        ("swish", lambda x: x * torch.sigmoid(x)),
    ],
)
def test_conv_and_its_activation(act: str, expected: Callable[[Tensor], Tensor]) -> None:
    x, part = 5 * images(), conv(4, 3, 3, 2)
    layer = Layer("a", "conv", 4, 3, 6, 3, 3, 2, act=act)
    torch.testing.assert_close(run(layer, [x], {"conv": part}), expected(part(x)))


def test_preconv_leaves_its_input_alone() -> None:
    x, part = images(), conv(4, 4, 3)
    before = x.clone()
    out = run(Layer("a", "preconv", 4, 4, 6, 6, 3), [x], {"conv": part})
    assert torch.equal(out, part(x.clamp(min=0)))
    assert torch.equal(x, before)


@pytest.mark.parametrize("shortcut", ["", "identity"])
@pytest.mark.parametrize("se", [0, 2])
def test_inverted_bottleneck(shortcut: str, se: int) -> None:
    x = images()
    parts = {
        "expand": conv(4, 8),
        "depthwise": conv(8, 8, 5, groups=8),
        "squeeze": conv(8, 2),
        "excite": conv(2, 8),
        "project": conv(8, 4),
    }
    layer = Layer("a", "mbconv", 4, 4, 6, 6, 5, 1, 2, 8, se=se, act="hswish", shortcut=shortcut)
    y = F.hardswish(parts["depthwise"](F.hardswish(parts["expand"](x))))
    if se:
        gate = parts["excite"](parts["squeeze"](y.mean((2, 3), keepdim=True)).clamp(min=0))
        y = y * ((gate + 3) / 6).clamp(0, 1)
    expected = parts["project"](y) + (x if shortcut else 0)
    torch.testing.assert_close(run(layer, [x], parts), expected)


@pytest.mark.parametrize("resolution", [6, 7])
def test_projected_shortcut_pools_and_widens(resolution: int) -> None:
    x = images(resolution=resolution)
    parts = {"depthwise": conv(4, 4, 3, 2, groups=4), "project": conv(4, 5), "shortcut": conv(4, 5)}
    layer = Layer("a", "mbconv", 4, 5, resolution, -(-resolution // 2), 3, 2, hidden=4, act="relu", shortcut="project")
    main = parts["project"](parts["depthwise"](x).clamp(min=0))
    pooled = F.avg_pool2d(x, 2, padding=resolution % 2)  # the released code pads odd sides on both ends
    torch.testing.assert_close(run(layer, [x], parts), main + parts["shortcut"](pooled))


@pytest.mark.parametrize("resolution", [8, 9])
def test_reduction_of_nasbench201(resolution: int) -> None:
    x = images(resolution=resolution)
    parts = {"conv1": conv(4, 8, 3, 2), "conv2": conv(8, 8, 3), "shortcut": conv(4, 8)}
    layer = Layer("a", "reduce", 4, 8, resolution, -(-resolution // 2), 3, 2)
    out = run(layer, [x], parts)
    main = parts["conv2"](parts["conv1"](x.clamp(min=0)).clamp(min=0))
    torch.testing.assert_close(out, main + parts["shortcut"](F.avg_pool2d(x, 2, padding=resolution % 2)))


@pytest.mark.parametrize("shortcut", ["", "identity"])
def test_residual_block(shortcut: str) -> None:
    x = images()
    before = x.clone()
    parts = {"conv1": conv(4, 4, 3), "conv2": conv(4, 4, 3)}
    layer = Layer("a", "residual", 4, 4, 6, 6, 3, act="relu", shortcut=shortcut)
    main = parts["conv2"](parts["conv1"](x).clamp(min=0))
    torch.testing.assert_close(run(layer, [x], parts), (main + (x if shortcut else 0)).clamp(min=0))
    assert torch.equal(x, before)


@pytest.mark.parametrize("resolution", [6, 7])
@pytest.mark.parametrize("c_out", [4, 5])
def test_residual_block_that_shrinks_the_map(resolution: int, c_out: int) -> None:
    x = images(resolution=resolution)
    parts = {"conv1": conv(4, c_out, 3, 2), "conv2": conv(c_out, c_out, 3)}
    pooled = F.avg_pool2d(x, 2, padding=resolution % 2)
    if c_out != 4:
        parts["shortcut"] = conv(4, c_out)
        pooled = parts["shortcut"](pooled)
    layer = Layer("a", "residual", 4, c_out, resolution, -(-resolution // 2), 3, 2, act="hswish", shortcut="project")
    main = parts["conv2"](F.hardswish(parts["conv1"](x)))
    torch.testing.assert_close(run(layer, [x], parts), F.hardswish(main + pooled))


def test_pools() -> None:
    x = images(resolution=5)
    ones = torch.ones(1, 1, 5, 5)
    averaged = run(Layer("a", "avgpool", 1, 1, 5, 5, 3), [ones], {})
    assert torch.equal(averaged, ones)  # the padding is not counted
    largest = run(Layer("a", "maxpool", 4, 4, 5, 5, 3), [x], {})
    assert largest[0, 0, 0, 0] == x[0, 0, :2, :2].max()
    halved = run(Layer("a", "maxpool", 4, 4, 5, 3, 2, 2), [x], {})
    assert halved.shape == (2, 4, 3, 3)
    assert halved[0, 0, 2, 2] == x[0, 0, 4, 4]


def test_skip_zero_and_pooling() -> None:
    x = images(resolution=5)
    assert run(Layer("a", "skip", 4, 4, 5, 5), [x], {}) is x
    assert torch.equal(run(Layer("a", "skip", 4, 4, 5, 3, stride=2), [x], {}), x[:, :, ::2, ::2])
    assert torch.equal(run(Layer("a", "zero", 4, 6, 5, 3, stride=2), [x], {}), torch.zeros(2, 6, 3, 3))
    assert torch.equal(run(Layer("a", "gap", 4, 4, 5, 1), [x], {}), x.mean((2, 3), keepdim=True))


def test_flatten_and_hidden_layers() -> None:
    x = images(resolution=5)
    flat = run(Layer("a", "flatten", 4, 100, 5, 1), [x], {})
    assert torch.equal(flat, x.reshape(2, 100, 1, 1))
    weight = torch.randn(7, 100)
    hidden = Layer("b", "linear", 100, 7, 1, 1, act="relu")
    out = run(hidden, [flat], {"linear": lambda t: t @ weight.T})
    torch.testing.assert_close(out, (x.reshape(2, 100) @ weight.T).clamp(min=0))


def test_dropout_is_for_the_classifier_only() -> None:
    hidden = Layer("b", "linear", 100, 7, 1, 1, act="relu")
    layers = Layer("a", "flatten", 4, 100, 5, 1), hidden, Layer("c", "linear", 7, 3, 1, 1)
    assert Regularisation(dropout=0.5).rates(Blueprint(layers)) == [0, 0, 0.5]


def test_joins() -> None:
    a, b, c = images(5), images(4) + 1, images(4) - 2
    summed = Layer("a", "join", 5, 4, 6, 6)
    assert torch.equal(run(summed, [a, b, c], {}), a[:, :4] + b + c)
    assert torch.equal(run(summed, [a], {}), a[:, :4])
    torch.testing.assert_close(run(summed._replace(join="mean"), [b, c], {}), (b + c) / 2)
    both = run(Layer("a", "join", 9, 9, 6, 6, join="concat"), [a, b], {})
    assert torch.equal(both, torch.cat([a, b], 1))
    before = b.clone()
    assert torch.equal(run(summed._replace(act="relu"), [b], {}), b.clamp(min=0))
    assert torch.equal(b, before)


def test_norm_then_activation() -> None:
    x = images()
    assert torch.equal(run(Layer("a", "norm", 4, 4, 6, 6, act="relu"), [x], {"norm": lambda x: x - 1}), (x - 1).relu())


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match="unknown kind 'warp'"):
        run(Layer("a", "warp", 4, 4, 6, 6), [images()], {})


def test_dropout_is_before_the_classifier() -> None:
    layer = Layer("a", "linear", 4, 4, 1, 1)
    x = torch.ones(1000, 4, 1, 1)
    torch.manual_seed(0)
    out = run(layer, [x], {"linear": lambda x: x}, 0.25)
    assert ((out == 0) | (out == 4 / 3)).all()
    assert (out == 0).float().mean().item() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("kind", "roles"), [("mbconv", ("depthwise", "project")), ("residual", ("conv1", "conv2"))], ids=str
)
def test_drop_connect_leaves_out_whole_images(kind: str, roles: tuple[str, str]) -> None:
    layer = Layer("a", kind, 2, 2, 4, 4, 3, hidden=2, shortcut="identity")
    x = torch.ones(2000, 2, 4, 4)
    torch.manual_seed(0)
    same: Parts = dict.fromkeys(roles, lambda x: x)
    branch = run(layer, [x], same, 0.2) - x
    assert (branch == branch[:, :1, :1, :1]).all()
    assert (branch[:, 0, 0, 0] == 0).float().mean().item() == pytest.approx(0.2, abs=0.03)
    assert branch.mean().item() == pytest.approx(1, abs=0.05)
    assert torch.equal(run(layer, [x], same), 2 * x)


def test_drop_connect_grows_towards_the_end() -> None:
    space = catalog.space("attentive")
    blueprint = space.blueprint(space.named["attentive-a6"])
    rates = dict(
        zip((x.name for x in blueprint), Regularisation(dropout=0.3, drop_connect=0.2).rates(blueprint), strict=True)
    )
    blocks = [x for x in blueprint if x.kind == "mbconv"]
    assert rates.pop("classifier") == 0.3
    for i, layer in enumerate(blocks):
        late = layer.stage >= 6 and layer.shortcut == "identity"
        assert rates.pop(layer.name) == pytest.approx(0.2 * i / len(blocks) if late else 0)
    assert set(rates.values()) == {0.0}


def test_drop_connect_counts_blocks_of_both_kinds() -> None:
    block = Layer("a", "residual", 4, 4, 8, 8, 3, act="relu", shortcut="identity", stage=1)
    blocks = block, block._replace(name="b", kind="mbconv", hidden=4), block._replace(name="c", shortcut="project")
    assert Regularisation(drop_connect=0.3).rates(Blueprint((*blocks, block._replace(name="d")))) == pytest.approx(
        [0, 0.3 / 4, 0, 0.3 * 3 / 4]
    )


def test_tensors_are_freed_when_nobody_reads_them_any_more() -> None:
    chain = [Layer(f"l{i}", "avgpool", 1, 1, 4, 4, 3) for i in range(6)]
    late = Layer("late", "join", 1, 1, 4, 4, inputs=("l1", "l5"))
    alive: list[int] = []
    seen: list[weakref.ref[Tensor]] = []
    for _, out in Program(Blueprint((*chain, late))).trace(torch.ones(1, 1, 4, 4), lambda layer: {}):
        seen.append(weakref.ref(out))
        alive.append(sum(ref() is not None for ref in seen))
    assert alive == [1, 1, 2, 2, 2, 2, 1]  # l1 waits for the join


def test_sides_that_were_rounded_down_do_not_run() -> None:
    space = catalog.space("efficientnet:spatial=floor,resolution=225")
    with pytest.raises(InputError, match=r"layer stem: .* 225 / 2 to 113, got 112; spatial='floor'"):
        Program(space.blueprint((0,)))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_a_network_can_be_traced() -> None:
    network = build("attentive:resolutions=70,width=0.1", (0,) * 31, classes=5, seed=0).eval()  # odd maps on the way
    x = torch.randn(1, 3, 70, 70)
    traced: Any = torch.jit.trace(network, x)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(traced(x), network(x))
