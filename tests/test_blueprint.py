import pytest

from supernetic.blueprint import Blueprint, Layer, halved, make_divisible, parts


def test_parts_of_an_inverted_bottleneck() -> None:
    layer = Layer("b", "mbconv", 16, 24, 8, 4, 3, 2, 6, 96, se=24, shortcut="project")
    roles = [p.role for p in parts(layer)]
    assert roles == ["expand", "depthwise", "squeeze", "excite", "project", "shortcut"]
    expand, depthwise, squeeze, excite, project, shortcut = parts(layer)
    assert expand.macs == 16 * 96 * 64  # before the stride
    assert depthwise.macs == 96 * 9 * 16
    assert squeeze.macs + excite.macs == 2 * 96 * 24
    assert squeeze.params == 96 * 24 + 24
    assert project.macs == 96 * 24 * 16
    assert shortcut.params == 16 * 24  # bare


def test_expansion_one_has_no_expand_convolution() -> None:
    layer = Layer("b", "mbconv", 16, 16, 8, 8, 3, hidden=16)
    assert [p.role for p in parts(layer)] == ["depthwise", "project"]


def test_parts_of_a_residual_block() -> None:
    layer = Layer("b", "residual", 16, 24, 8, 4, 3, 2, act="relu", shortcut="project")
    conv1, conv2, shortcut = parts(layer)
    assert [p.role for p in parts(layer)] == ["conv1", "conv2", "shortcut"]
    assert (conv1.macs, conv1.params) == (16 * 24 * 9 * 16, 16 * 24 * 9 + 48)  # behind the stride
    assert (conv2.macs, conv2.params) == (24 * 24 * 9 * 16, 24 * 24 * 9 + 48)
    assert (shortcut.macs, shortcut.params) == (16 * 24 * 16, 16 * 24)  # bare
    assert [p.role for p in parts(layer._replace(c_in=24))] == ["conv1", "conv2"]  # pooling is enough
    assert [p.role for p in parts(layer._replace(shortcut=""))] == ["conv1", "conv2"]


def test_a_norm_has_parameters_but_no_macs() -> None:
    (part,) = parts(Layer("n", "norm", 8, 8, 4, 4))
    assert (part.macs, part.params) == (0, 16)


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind 'warp'"):
        parts(Layer("x", "warp", 1, 1, 1, 1))


def test_labels_are_the_papers() -> None:
    assert Layer("b", "mbconv", 8, 8, 4, 4, 7, 1, 6, 48, se=12).label == "MB6_K7_SE"
    assert Layer("b", "mbconv", 8, 8, 4, 4, 3, 1, 3, 24).label == "MB3_K3"
    assert Layer("c", "conv", 8, 8, 4, 4, 1).label == "CONV_K1"
    assert Layer("r", "residual", 8, 8, 4, 4, 3).label == "RES_K3"
    assert Layer("s", "skip", 8, 8, 4, 4).label == "SKIP"


def test_wiring_and_json() -> None:
    layers = (
        Layer("a", "conv", 3, 8, 4, 4),
        Layer("b", "conv", 8, 8, 4, 4),
        Layer("sum", "join", 8, 8, 4, 4, inputs=("a", "b")),
        Layer("fc", "linear", 8, 2, 1, 1),
    )
    blueprint = Blueprint(layers)
    assert blueprint.wiring() == [(-1,), (0,), (0, 1), (2,)]
    assert (blueprint.resolution, blueprint.in_channels, blueprint.classes, len(blueprint)) == (4, 3, 2, 4)
    assert Blueprint.from_json(blueprint.to_json()) == blueprint
    assert blueprint.to_json()[0] == {
        "name": "a",
        "kind": "conv",
        "c_in": 3,
        "c_out": 8,
        "resolution": 4,
        "resolution_out": 4,
    }


@pytest.mark.parametrize(
    ("width", "expected"), [(3, 8), (11, 16), (12, 16), (18, 24), (20, 24), (44.8, 48), (100.8, 104)]
)
def test_make_divisible(width: float, expected: int) -> None:
    assert make_divisible(width) == expected
    assert make_divisible(width) >= 0.9 * width


def test_sides() -> None:
    assert [halved(s, 2) for s in (7, 8)] == [4, 4]
    assert [halved(s, 2, "floor") for s in (7, 8)] == [3, 4]
    assert halved(7, 1, "floor") == 7
