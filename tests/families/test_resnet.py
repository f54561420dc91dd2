import pytest
import torch
import torch.nn.functional as F

from supernetic.costs.macs import add_up
from supernetic.errors import InputError
from supernetic.families.resnet import ResNet, body
from supernetic.nn.network import build
from supernetic.testing import check_blueprint


@pytest.mark.parametrize(("depth", "params"), [(20, 269_722), (32, 464_154), (56, 853_018), (110, 1_727_962)])
def test_small_ones_have_their_known_parameters(depth: int, params: int) -> None:
    blueprint = ResNet(depth).network(10, 3, 32)
    check_blueprint(blueprint)
    assert add_up(blueprint)[1] == params


@pytest.mark.parametrize(
    ("depth", "params", "gmacs"),
    [
        (18, 11_689_512, 1.8),
        (34, 21_797_672, 3.6),
        (50, 25_557_032, 3.8),
        (101, 44_549_160, 7.6),
        (152, 60_192_808, 11.3),
    ],
)
def test_large_ones_have_their_known_costs(depth: int, params: int, gmacs: float) -> None:
    """Parameters of torchvision's models, MACs of the paper's Table 1."""
    blueprint = ResNet(depth).network(1000, 3, 224)
    check_blueprint(blueprint)
    assert add_up(blueprint)[1] == params
    assert add_up(blueprint)[0] / 1e9 == pytest.approx(gmacs, rel=0.02)


def test_layers_that_count() -> None:
    """What the depth counts: convolutions on the way, not on shortcuts, and the classifier."""
    for depth in (8, 20, 56, 18, 34, 50, 101, 152):
        layers = [x for x in ResNet(depth).network(10, 3, 32) if x.kind in ("conv", "linear")]
        assert sum(not x.name.endswith("shortcut") for x in layers) == depth


def test_a_block_that_widens_pads_its_shortcut_with_zeros() -> None:
    network = build(ResNet(8, width=0.25).network(3, 1, 9), seed=0).eval()
    traced = {layer.name: t for layer, t in network.trace(torch.randn(2, 1, 9, 9))}
    before, branch = traced["block0.sum"], traced["block1.conv2"]
    shortcut = F.pad(before[:, :, ::2, ::2], (0, 0, 0, 0, 0, 4))
    torch.testing.assert_close(traced["block1.sum"], (branch + shortcut).clamp(min=0))


@pytest.mark.parametrize("width", [0.01, 0.5, 1.5])
def test_any_width_and_side(width: float) -> None:
    for depth, resolution in ((8, 1), (8, 7), (18, 5), (18, 65), (50, 33)):
        check_blueprint(ResNet(depth, width).network(7, 2, resolution))


def test_fewer_halvings_leave_a_larger_map() -> None:
    assert [body(101, 1.0, 3, 224, halvings=n)[-1].resolution_out for n in (1, 2, 3)] == [28, 14, 7]
    assert [body(8, 1.0, 1, 28, halvings=n)[-1].resolution_out for n in (1, 2, 3)] == [14, 7, 7]


def test_other_depths_are_refused() -> None:
    with pytest.raises(InputError, match=r"18, 34, 50, 101, 152 or 6n \+ 2 .* layers, got 21"):
        ResNet(21)
