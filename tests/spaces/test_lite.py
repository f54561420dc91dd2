import numpy as np
import pytest

from supernetic.costs.macs import cost
from supernetic.errors import ArchError
from supernetic.families.efficientnet_lite import RESOLUTIONS, SCALES
from supernetic.samplers.extremes import extremes
from supernetic.spaces.lite import Lite

TEXT = "160px | 6k3 6k3 | 4k5 | 3k3 6k3 6k3 | 3k3 4k5 | 6k5 6k3 6k5 | 4k3"


def test_size_and_encoding() -> None:
    space = Lite()
    assert len(space.choices) == 30
    assert sorted(g for slot in space.slots for g in slot) == list(range(30))
    # by stage: blocks of 3 expansions and 1 or 2 kernels, and how many of them there are
    ways = [sum(options**n for n in depths) for options, depths in
            ((3, (1, 2)), (6, (1, 2)), (3, (2, 3)), (6, (2, 3)), (6, (2, 3, 4)), (3, (1,)))]  # fmt: skip
    assert space.size == 5 * np.prod([int(w) for w in ways])


@pytest.mark.parametrize(("version", "macs"), [(0, 385), (1, 600), (2, 860)])
def test_the_largest_network_is_efficientnet_lite(version: int, macs: int) -> None:
    space = Lite(*SCALES[version], resolution=RESOLUTIONS[version])
    assert round(cost(space.blueprint(space.largest)).macs / 1e6) == macs
    assert extremes(space) == ((0,) * len(space.choices), space.largest)


def test_every_network_is_inside_of_the_largest() -> None:
    space = Lite(resolution=64)
    whole = {layer.name: layer for layer in space.blueprint(space.largest)}
    for arch in space.sample(np.random.default_rng(0), 50).tolist():
        for layer in space.blueprint(space.check(arch)):
            largest = whole[layer.name]
            assert (layer.c_in, layer.c_out, layer.stride) == (largest.c_in, largest.c_out, largest.stride)
            assert layer.hidden <= largest.hidden
            assert layer.kernel <= largest.kernel
            assert layer.resolution <= largest.resolution


def test_notation() -> None:
    space = Lite(resolution=160)
    arch = space.parse(TEXT)
    assert space.format(arch) == TEXT
    names = [layer.name for layer in space.blueprint(arch)]
    assert "stage3.1" not in names
    assert "stage6.2" in names
    hidden = {layer.name: (layer.hidden, layer.kernel) for layer in space.blueprint(arch)}
    assert hidden["stage3.0"] == (4 * 24, 5)
    assert hidden["stage5.0"] == (3 * 80, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("160px", "100px"), "resolution must lie in 0..4"),
        (TEXT.replace("6k3 6k3 |", "5k3 6k3 |", 1), "stage2.0.expansion"),
        (TEXT.replace("4k5 |", "4k7 |", 1), "stage3.0.kernel"),
        (TEXT.replace("4k3", "4k5"), "30 integers"),  # the last stage has kernels of 3 alone
        (TEXT.replace("6k3 6k3 |", "6k3 6k3 6k3 |", 1), "stage2.depth"),
        (TEXT.replace("160px | ", ""), "30 integers"),
    ],
)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(ArchError, match=message):
        Lite(resolution=160).parse(text)


def test_regular_networks_are_the_whole_at_fewer_pixels_and_even_cuts() -> None:
    space = Lite(resolution=128)
    whole, *cut = space.regular()
    assert whole[-1] == space.largest
    assert [space.format(a).split("px")[0] for a in whole] == ["80", "88", "104", "112", "128"]
    assert [{w for w in space.format(shape[0]).split() if "k" in w} for shape in cut] == [
        {"4k3", "4k5"}, {"3k3", "3k5"},
    ]  # fmt: skip
