"""Which maps of a network a detector reads."""

import pytest

from supernetic import catalog
from supernetic.detection.taps import body_of, find_taps, strides_of
from supernetic.errors import InputError
from supernetic.model_names import parse_model
from supernetic.networks.controls import mobilenet_v2


def test_taps_of_mobilenetv2() -> None:
    blueprint = mobilenet_v2(1.0, 224, 1000)
    taps = find_taps(blueprint)
    width = {layer.name: layer.c_out for layer in blueprint}
    assert [width[name] for name in taps.values()] == [32, 96, 320]
    resolution = {layer.name: layer.resolution_out for layer in blueprint}
    assert [resolution[name] for name in taps.values()] == [28, 14, 7]


@pytest.mark.parametrize(("name", "widths"), [("scarlet-a", [40, 96, 320]), ("scarlet-c", [40, 96, 320])])
def test_taps_of_scarlet(name: str, widths: list[int]) -> None:
    blueprint = parse_model(name, 1000, 3, 224, "full").blueprint
    assert blueprint is not None
    width = {layer.name: layer.c_out for layer in blueprint}
    assert [width[tap] for tap in find_taps(blueprint).values()] == widths


def test_the_body_ends_with_the_last_tap() -> None:
    blueprint = mobilenet_v2(1.0, 224, 1000)
    body = body_of(blueprint)
    assert body.layers[-1].name == find_taps(blueprint)[32]
    assert find_taps(body) == find_taps(blueprint)
    assert strides_of(blueprint)[-1] == 0  # the classifier has no map


def test_networks_without_a_map_of_stride_8_are_refused() -> None:
    space = catalog.space("nasbench201:cells=1,channels=8")
    blueprint = space.blueprint(space.parse(",".join(["3"] * 6)))
    with pytest.raises(InputError, match="must have a map of stride 8"):
        find_taps(blueprint)
