import pytest
import torch
from torch import Tensor, nn

from supernetic import catalog
from supernetic.errors import InputError
from supernetic.nn.network import Network, build
from supernetic.nn.norm import batch_statistics, norms_of, recalibrate


def network() -> Network:
    space = catalog.space("macro:channels=8,resolution=16,head=32")
    return build(space.blueprint((2, 1, 0, 1, 0, 1, 2, 0)), seed=3)


def state(model: nn.Module) -> dict[str, Tensor]:
    return {n: t.clone() for n, t in model.state_dict().items()}


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return all(torch.equal(t, b[n]) for n, t in a.items())


@pytest.mark.parametrize("training", [False, True])
def test_batch_statistics_change_nothing(training: bool) -> None:
    model = network().train(training)
    before, x = state(model), torch.randn(8, 3, 16, 16)
    with batch_statistics(model):
        got = model(x)
    assert same(state(model), before)
    assert all(n.training == training and n.track_running_stats for n in norms_of(model))
    assert torch.equal(got, model.train()(x))


def test_batch_statistics_end_with_an_error_too() -> None:
    model = network().eval()
    with pytest.raises(RuntimeError), batch_statistics(model):
        model(torch.zeros(1, 5, 16, 16))  # too many channels
    assert not any(n.training for n in norms_of(model))


def test_recalibration_averages_over_batches() -> None:
    model = network().eval()
    model(torch.randn(4, 3, 16, 16))
    weights = {n: t for n, t in state(model).items() if "running" not in n and "tracked" not in n}
    batches = [torch.randn(16, 3, 16, 16) + i for i in range(3)]
    recalibrate(model, batches)
    stem = model.get_submodule("stem.conv.op")
    outputs = [stem(x) for x in batches]
    norm = norms_of(model)[0]
    assert norm.running_mean is not None
    assert norm.running_var is not None
    torch.testing.assert_close(norm.running_mean, torch.stack([y.mean((0, 2, 3)) for y in outputs]).mean(0))
    torch.testing.assert_close(norm.running_var, torch.stack([y.var((0, 2, 3)) for y in outputs]).mean(0))
    assert same(weights, state(model))
    assert norm.momentum == 0.1
    assert not model.training
    assert not any(n.training for n in norms_of(model))


def test_on_one_batch_recalibration_is_batch_statistics() -> None:
    model = network().eval()
    x = torch.randn(64, 3, 16, 16)
    recalibrate(model, [x])
    with batch_statistics(model):
        expected = model(x)
    torch.testing.assert_close(model(x), expected, rtol=0.02, atol=2e-3)  # running variances are unbiased


def test_recalibration_forgets_what_was_there() -> None:
    x = [torch.randn(16, 3, 16, 16)]
    one, two = network(), network()
    two.train()(torch.randn(16, 3, 16, 16) * 9)
    recalibrate(one, x)
    recalibrate(two, x)
    assert same(state(one), state(two))


def test_recalibration_needs_images() -> None:
    with pytest.raises(InputError, match="at least one batch"):
        recalibrate(network(), [])
