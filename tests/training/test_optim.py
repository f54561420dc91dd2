import pytest
import torch
from torch import nn

from supernetic.spaces.macro import Macro
from supernetic.supernets.supernet import Supernet
from supernetic.training.optim import Average, RMSProp, is_shared, optimisers, set_lr
from supernetic.training.recipe import Recipe


def supernet() -> Supernet:
    return Supernet(Macro(channels=4, resolution=8, head=8), seed=0)


def test_norms_and_biases_do_not_decay_unless_told() -> None:
    net = supernet()
    (optimiser,) = optimisers(net, Recipe(weight_decay=1e-3)).step
    decay = {p: g["weight_decay"] for g in optimiser.param_groups for p in g["params"]}
    assert len(decay) == len(list(net.parameters()))
    for name, p in net.named_parameters():
        assert decay[p] == (1e-3 if name.endswith("op.weight") else 0), name
    (optimiser,) = optimisers(net, Recipe(weight_decay=1e-3, decay_all=True)).step
    assert {g["weight_decay"] for g in optimiser.param_groups} == {1e-3}


def test_stem_and_head_may_learn_slower() -> None:
    net = supernet()
    (optimiser,) = optimisers(net, Recipe(shared_lr=0.1)).step
    set_lr([optimiser], 0.5)
    lr = {p: g["lr"] for g in optimiser.param_groups for p in g["params"]}
    shared = {n for n, p in net.named_parameters() if lr[p] == pytest.approx(0.05)}
    assert shared == {n for n, _ in net.named_parameters() if n.startswith(("stem.", "head.", "classifier."))}
    assert is_shared("head.conv.C8.conv.op.weight")
    assert not is_shared("layer3.MB3_K3.expand.op.weight")


def test_two_optimisers_where_stem_and_head_follow_every_path() -> None:
    net = supernet()
    made = optimisers(net, Recipe(shared_update="path"))
    held = [{p for g in o.param_groups for p in g["params"]} for o in (*made.path, *made.step)]
    assert len(held) == 2
    assert held[0] == {p for n, p in net.named_parameters() if is_shared(n)}
    assert held[0].isdisjoint(held[1])
    alone = optimisers(nn.Linear(2, 2), Recipe(shared_update="path"))
    assert (len(alone.path), len(alone.step)) == (0, 1)


@pytest.mark.parametrize("name", ["sgd", "rmsprop", "adam"])
def test_weights_without_a_gradient_do_not_move(name: str) -> None:
    layers = [nn.Linear(2, 2), nn.Linear(2, 2)]
    (optimiser,) = optimisers(nn.ModuleList(layers), Recipe(optimiser=name, weight_decay=0.1)).step  # type: ignore[arg-type]
    for step in range(3):
        optimiser.zero_grad(set_to_none=True)
        layers[step % 2](torch.ones(1, 2)).sum().backward()
        before = layers[1 - step % 2].weight.detach().clone()
        optimiser.step()
        assert torch.equal(layers[1 - step % 2].weight, before)


def test_rmsprop_by_hand() -> None:
    """Two steps of TensorFlow's rule in plain numbers; NAS-Bench-101's eps of 1 makes the difference to torch's."""
    p = nn.Parameter(torch.tensor([2.0]))
    optimiser = RMSProp([{"params": [p], "weight_decay": 0.5}], lr=0.2, smoothing=0.9, momentum=0.9, eps=1.0)
    value, square, buffer = 2.0, 1.0, 0.0
    for grad in (3.0, -1.0):
        p.grad = torch.tensor([grad])
        optimiser.step()
        g = grad + 0.5 * value
        square = 0.9 * square + 0.1 * g * g
        buffer = 0.9 * buffer + 0.2 * g / (square + 1.0) ** 0.5
        value -= buffer
        assert float(p.detach()) == pytest.approx(value, rel=1e-6)


def test_average_by_hand() -> None:
    norm = nn.BatchNorm1d(1)
    average = Average(norm, 0.9)
    weight, mean = 1.0, 0.0
    for step in range(3):
        with torch.no_grad():
            norm.weight.add_(1)
        norm(torch.randn(4, 1, generator=torch.Generator().manual_seed(step)))
        average.update(norm)
        weight = 0.9 * weight + 0.1 * float(norm.weight.detach())
        assert norm.running_mean is not None
        mean = 0.9 * mean + 0.1 * float(norm.running_mean)
    assert float(average.tensors["weight"]) == pytest.approx(weight)
    assert float(average.tensors["running_mean"]) == pytest.approx(mean)
    assert int(average.tensors["num_batches_tracked"]) == 3
