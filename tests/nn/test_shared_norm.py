"""BN over several processes against torch's BN over the whole batch."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from supernetic.blueprint import Layer, parts
from supernetic.nn.shared_norm import shared_batch_norm
from supernetic.nn.unit import Unit, View, share_statistics
from supernetic.parallel.ranks import launch_ranks

MOMENTUM, EPS = 0.3, 1e-5
LAYER = Layer("a", "conv", 3, 6, 5, 5, 3, 1, act="relu")


def tensors(n: int = 8) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images far from zero, a weight and a bias of each channel, and what the output is weighed by for a loss."""
    torch.manual_seed(1)
    x = 3 + torch.randn(n, 4, 5, 5) * torch.tensor([0.1, 1.0, 2.0, 5.0]).view(1, -1, 1, 1)
    return x, torch.rand(4) + 0.5, torch.randn(4), torch.randn(n, 4, 5, 5)


def answers(norm: Any, x: Tensor, weight: Tensor, bias: Tensor, factor: Tensor) -> list[Tensor]:
    """Output, gradients of images, weight and bias, and the running statistics afterwards."""
    inputs = [t.clone().requires_grad_() for t in (x, weight, bias)]
    mean, var = torch.zeros(4), torch.ones(4)
    output = norm(inputs[0], mean, var, *inputs[1:])
    grads = torch.autograd.grad((output * factor).sum(), inputs)
    return [output.detach(), *grads, mean, var]


def whole(x: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.batch_norm(x, mean, var, weight, bias, True, MOMENTUM, EPS)


def test_one_process_is_torchs_bn() -> None:
    def shared(x: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return shared_batch_norm(x, mean, var, weight, bias, MOMENTUM, EPS)

    for ours, theirs in zip(answers(shared, *tensors()), answers(whole, *tensors()), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_without_weights_and_running_statistics() -> None:
    x = tensors()[0]
    torch.testing.assert_close(
        shared_batch_norm(x, None, None, None, None, 0.0, EPS),
        F.batch_norm(x, None, None, training=True),
        atol=1e-5,
        rtol=1e-4,
    )


def test_two_processes_with_unequal_parts_are_one_with_the_whole_batch() -> None:
    x, weight, bias, factor = tensors()

    def work(x: Tensor, weight: Tensor, bias: Tensor, factor: Tensor) -> Iterator[Any]:
        import torch
        from torch import distributed

        from supernetic.nn.shared_norm import shared_batch_norm

        torch.set_num_threads(1)
        distributed.init_process_group("gloo")
        part = [slice(0, 3), slice(3, 8)][distributed.get_rank()]
        inputs = [t.clone().requires_grad_() for t in (x[part], weight, bias)]
        mean, var = torch.zeros(4), torch.ones(4)
        output = shared_batch_norm(inputs[0], mean, var, inputs[1], inputs[2], 0.3, 1e-5)
        grads = torch.autograd.grad((output * factor[part]).sum(), inputs)
        every: list[Any] = [None, None]
        found = [t.detach().tolist() for t in (output, *grads, mean, var)]
        distributed.all_gather_object(every, found)
        yield every

    first, second = next(iter(launch_ranks(work, 2, x, weight, bias, factor)))
    one, two = ([torch.tensor(t) for t in found] for found in (first, second))
    together = [
        torch.cat([one[0], two[0]]),
        torch.cat([one[1], two[1]]),
        one[2] + two[2],
        one[3] + two[3],
        one[4],
        two[5],
    ]
    for ours, theirs in zip(together, answers(whole, x, weight, bias, factor), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def unit() -> Unit:
    torch.manual_seed(0)
    made = Unit(LAYER, parts(LAYER)[0])
    for p in made.parameters():
        torch.nn.init.normal_(p)
    return made


@pytest.mark.parametrize("view", [None, View(out=slice(4), into=slice(2))])
def test_units_can_share_their_statistics(view: View | None) -> None:
    """Alone, a unit that shares computes the same as one that does not, whole and in part; statistics too."""
    plain, x = unit(), torch.randn(4, 3 if view is None else 2, 5, 5)
    sharing = copy.deepcopy(plain)
    assert share_statistics(sharing) == 1
    torch.testing.assert_close(sharing(x, view), plain(x, view), rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(sharing.state_dict().values(), plain.state_dict().values(), strict=True):
        torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(sharing.eval()(x, view), plain.eval()(x, view), rtol=1e-4, atol=1e-5)
