import pytest

from supernetic.spaces.scarlet import BLOCKS, WIDTHS, ScarletS1, ScarletS2


def test_sizes() -> None:
    assert ScarletS1().size == 7**19
    assert ScarletS2().size == 13**19


def test_numbering_is_the_papers() -> None:
    for i, (e, k) in enumerate(BLOCKS):
        assert i == (e - 3) + (k - 3) // 2
    assert ScarletS1.options[6] == ScarletS2.options[12] == "skip"


@pytest.mark.parametrize(("name", "se", "skips"), [("scarlet-a", 12, 0), ("scarlet-b", 14, 2), ("scarlet-c", 13, 3)])
def test_released_networks(name: str, se: int, skips: int) -> None:
    space = ScarletS2()
    body = [layer for layer in space.blueprint(space.named[name]) if layer.stage]
    assert sum(layer.se > 0 for layer in body) == se
    assert sum(layer.kind == "skip" for layer in body) == skips


def test_kernels_of_scarlet_a() -> None:
    space = ScarletS2()
    kernels = [layer.kernel for layer in space.blueprint(space.named["scarlet-a"]) if layer.stage]
    assert (kernels.count(5), kernels.count(7)) == (5, 7)


def test_a_skip_passes_its_channels_on_and_sub_samples() -> None:
    space = ScarletS1()
    layers = [x for x in space.blueprint((6, *(0,) * 18)) if x.stage]
    assert (layers[0].kind, layers[0].c_in, layers[0].c_out, layers[0].resolution, layers[0].resolution_out) == (
        "skip",
        16,
        16,
        112,
        56,
    )
    # the next block reads 16 channels, but its hidden width is that of the nominal 32
    assert (layers[1].c_in, layers[1].hidden, layers[1].c_out, layers[1].shortcut) == (16, 96, 32, "")
    full = [x for x in space.blueprint((0,) * 19) if x.stage]
    assert (full[1].c_in, full[1].hidden, full[1].shortcut) == (32, 96, "identity")


def test_shape_of_the_backbone() -> None:
    layers = [x for x in ScarletS1().blueprint((0,) * 19) if x.stage]
    assert [x.c_out for x in layers] == list(WIDTHS)
    assert [x.stride for x in layers].count(2) == 4
    assert layers[-1].resolution_out == 7
    assert [x.stage for x in layers] == [1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6]


def test_widths_scale() -> None:
    layers = ScarletS1(width=0.25, resolution=32, classes=10).blueprint((0,) * 19).layers
    assert all(x.c_out % 8 == 0 for x in layers[:-1])
    assert layers[-1].c_out == 10
