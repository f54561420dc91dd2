import pytest

from supernetic.costs.macs import add_up
from supernetic.families.inception import Inception
from supernetic.testing import check_blueprint


def test_the_papers_parameters() -> None:
    """Its Table 1 says 1,649,402: there BN only shifts, so ours has one number more per channel."""
    blueprint = Inception().network(10, 3, 28)
    check_blueprint(blueprint)
    scales = sum(layer.c_out for layer in blueprint if layer.kind == "conv")
    assert add_up(blueprint)[1] - scales == 1_649_402
    assert [layer.resolution_out for layer in blueprint if layer.kind == "join"] == [28] * 2 + [14] * 5 + [7] * 3


@pytest.mark.parametrize("resolution", [1, 9, 33])
def test_any_width_and_side(resolution: int) -> None:
    blueprint = Inception(width=0.1, stride=2).network(4, 1, resolution)
    check_blueprint(blueprint)
    assert blueprint.layers[0].resolution_out == (resolution + 1) // 2
