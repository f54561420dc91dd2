import pytest

from supernetic.errors import ArchError
from supernetic.spaces.attentive import RELEASED_NETWORKS, Attentive


def test_size_and_encoding() -> None:
    space = Attentive()
    assert space.size == 440_301_256_704
    assert len(space.choices) == 31
    assert sorted(g for slot in space.slots for g in slot) == list(range(31))


@pytest.mark.parametrize("name", RELEASED_NETWORKS)
def test_released_networks_are_written_as_released(name: str) -> None:
    space = Attentive()
    assert space.format(space.named[name]) == RELEASED_NETWORKS[name]
    assert space.name_of(space.named[name]) == name


def test_a0_is_the_smallest() -> None:
    assert Attentive().named["attentive-a0"] == (0,) * 31


def test_blocks() -> None:
    space = Attentive()
    layers = {x.name: x for x in space.blueprint(space.named["attentive-a6"])}
    first = layers["mb1.0"]
    assert (first.expansion, first.se, first.shortcut) == (1, 0, "identity")
    entry, second = layers["mb3.0"], layers["mb3.1"]
    assert (entry.stride, entry.shortcut, second.shortcut) == (2, "project", "identity")
    assert entry.se > 0
    assert layers["mb4.0"].se == 0
    assert (layers["head.expand"].c_out, layers["head.conv"].c_out) == (6 * 224, 1984)
    assert not layers["head.conv"].norm
    assert sum(n.startswith("mb6.") for n in layers) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("200; 16 16 24 32 64 112 192 216 1792; 3333333; 1444466; 1333331", "resolution must lie in 0..3"),
        ("192; 16 16 24 32 64 112 192 216 1793; 3333333; 1444466; 1333331", "head.width"),
        ("192; 16 16 24; 3333333; 1444466; 1333331", "31 integers"),
        ("192; a b; c; d; e", "31 integers"),
    ],
)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(ArchError, match=message):
        Attentive().parse(text)


def test_reduced() -> None:
    space = Attentive(resolutions=(24, 32), width=0.5, classes=10, in_channels=1)
    assert space.named == {}
    layers = space.blueprint((1,) + (0,) * 30).layers
    assert (layers[0].resolution, layers[0].c_in, layers[-1].c_out) == (32, 1, 10)
