import pytest

from supernetic.costs.macs import add_up
from supernetic.errors import InputError
from supernetic.families.convnet import ConvNet
from supernetic.testing import check_blueprint


def test_the_full_size_is_the_papers() -> None:
    blueprint = ConvNet().network(10, 3, 32)
    check_blueprint(blueprint)
    convolutions = [layer for layer in blueprint if layer.kind == "conv"]
    assert [(x.kernel, x.stride, x.c_out, x.resolution_out) for x in convolutions] == [(5, 1, 256, 32)] * 4
    macs = 25 * 32**2 * (3 * 256 + 3 * 256**2) + 2560
    assert add_up(blueprint) == (macs, 25 * (3 * 256 + 3 * 256**2) + 4 * 512 + 2570)


def test_pools_between_layers() -> None:
    blueprint = ConvNet(width=6, depth=3, kernel=3, pool=True).network(4, 1, 9)
    check_blueprint(blueprint)
    assert [layer.resolution_out for layer in blueprint] == [9, 5, 5, 3, 3, 1, 1]
    assert [layer.kind for layer in blueprint][:5] == ["conv", "maxpool", "conv", "maxpool", "conv"]


def test_even_kernels_are_refused() -> None:
    with pytest.raises(InputError, match="kernel of a ConvNet must be odd, got 4"):
        ConvNet(kernel=4)
