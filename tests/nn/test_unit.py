import pytest
import torch

from supernetic.blueprint import Layer, parts
from supernetic.nn.initialise import initialise
from supernetic.nn.unit import Statistics, Unit, View, cut


def block(c_in: int, c_out: int, hidden: int, kernel: int) -> Layer:
    return Layer("a", "mbconv", c_in, c_out, 8, 4, kernel, 2, 2, hidden, se=hidden // 2, shortcut="project")


BIG, LITTLE = block(6, 8, 12, 5), block(5, 7, 10, 3)


def pair(role: str, *, seed: int = 0) -> tuple[Unit, Unit]:
    """The unit of the big block, filled with random numbers, and that of the little one."""
    (big,) = (Unit(BIG, p) for p in parts(BIG) if p.role == role)
    (little,) = (Unit(LITTLE, p) for p in parts(LITTLE) if p.role == role)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in big.state_dict().items():
            if tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape, generator=generator) + ("var" in name))
    return big, little


VIEWS = {
    "expand": (5, View(slice(0, 10), slice(0, 5))),
    "depthwise": (10, View(slice(0, 10), slice(None), slice(1, 4))),
    "squeeze": (10, View(slice(1, 6), slice(2, 12))),
    "excite": (5, View(slice(2, 12), slice(1, 6))),
    "project": (10, View(slice(1, 8), slice(2, 12))),
    "shortcut": (5, View(slice(0, 7), slice(1, 6))),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("role", VIEWS)
def test_a_view_is_the_smaller_unit(role: str, training: bool) -> None:
    channels, view = VIEWS[role]
    big, little = pair(role)
    little.load(big, view)
    x = torch.randn(4, channels, 8, 8)
    assert torch.equal(big.train(training)(x, view), little.train(training)(x))


def test_training_moves_only_the_statistics_in_view() -> None:
    channels, view = VIEWS["project"]
    big, little = pair("project")
    little.load(big, view)
    before, _ = big.averages()
    before = before.clone()
    x = torch.randn(4, channels, 8, 8)
    big.train()(x, view)
    little.train()(x)
    after, _ = big.averages()
    assert torch.equal(after[1:8], little.averages()[0])
    assert after[0] == before[0]
    assert not torch.equal(after[1:8], before[1:8])


def test_untracked_statistics_stay() -> None:
    channels, view = VIEWS["project"]
    big, _ = pair("project")
    assert big.norm is not None
    big.norm.track_running_stats = False
    before = {n: t.clone() for n, t in big.state_dict().items()}
    x = torch.randn(4, channels, 8, 8)
    out = big.train()(x, view)
    assert torch.allclose(out.mean((0, 2, 3)), big.norm.bias[1:8], atol=1e-5)  # the batch's own were used
    assert all(torch.equal(before[n], t) for n, t in big.state_dict().items())


def test_other_statistics() -> None:
    _, unit = pair("project")
    initialise(unit, seed=0)
    x = 3 * torch.randn(64, 10, 4, 4) + 1
    before = {n: t.clone() for n, t in unit.state_dict().items()}
    own = unit.eval()(x)
    batch = unit(x, stats=Statistics(None, None, 0.0))
    torch.testing.assert_close(batch.mean((0, 2, 3)), torch.zeros(7), atol=1e-5, rtol=0)
    mean, var = torch.zeros(7), torch.ones(7)
    assert torch.equal(unit(x, stats=Statistics(mean, var)), own)
    assert torch.equal(unit(x, stats=Statistics(mean, var, 1.0)), batch)
    assert unit.op is not None
    expected = unit.op(x)
    torch.testing.assert_close(mean, expected.mean((0, 2, 3)))
    torch.testing.assert_close(var, expected.var((0, 2, 3)))
    assert all(torch.equal(before[n], t) for n, t in unit.state_dict().items())


def test_preconv_without_weights_in_its_norm() -> None:
    layer = Layer("a", "preconv", 4, 4, 8, 8, 3, norm=False)
    (part,) = parts(layer)
    unit = Unit(layer, part)
    initialise(unit, seed=0)
    assert unit.norm is not None
    assert "norm.weight" not in unit.state_dict()
    assert "op.bias" in unit.state_dict()
    out = unit.train()(torch.randn(8, 4, 8, 8), View(slice(0, 2), slice(0, 4)))
    torch.testing.assert_close(out.std((0, 2, 3), correction=0), torch.ones(2), atol=1e-3, rtol=0)


@pytest.mark.parametrize("role", ["expand", "depthwise"])
def test_views_keep_the_layout_of_memory(role: str) -> None:
    channels, view = VIEWS[role]
    big, little = pair(role)
    x = torch.randn(4, channels, 8, 8)
    plain = big(x, view)
    for layout in (torch.contiguous_format, torch.channels_last):
        for unit in (big, little):
            unit.to(memory_format=layout)  # type: ignore[call-overload]
        assert big.op is not None
        assert little.op is not None
        assert cut(big.op.weight, view).stride() == little.op.weight.stride()
        torch.testing.assert_close(big(x.contiguous(memory_format=layout), view), plain)


def test_a_unit_without_norm_has_no_averages() -> None:
    big, _ = pair("squeeze")
    with pytest.raises(ValueError, match="without BN"):
        big.averages()
