from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.errors import InputError, UnknownNameError
from supernetic.samplers.guided import Guided
from supernetic.samplers.step import Draw
from supernetic.samplers.uniform import Uniform
from supernetic.space import Arch
from supernetic.supernets.supernet import Supernet

MACRO = catalog.space("macro:channels=4,resolution=8,head=16")


def test_the_weights_are_the_gradient_of_the_hinge() -> None:
    """Against automatic differentiation of the loss as the paper writes it."""
    torch.manual_seed(0)
    supernet = Supernet(MACRO, seed=0)
    x, y = torch.randn(8, 3, 8, 8), torch.arange(8)

    def losses(archs: Sequence[Arch]) -> torch.Tensor:
        return torch.stack([cross_entropy(supernet(x, a), y) for a in archs])

    draw = Draw(np.random.default_rng(3), 0, lambda archs: (-losses(archs)).tolist())
    step = Guided(strength=0.8)(MACRO, draw)
    archs = [p.arch for p in step.paths]
    assert len({p.weight for p in step.paths}) > 1  # some pair is in the wrong order here
    macs = costs_of(MACRO, np.array(archs, dtype=np.int8))
    each = losses(archs).detach().requires_grad_()
    pairs = [(i, j) for i in range(3) for j in range(3) if macs[i] > macs[j]]
    hinge = torch.stack([torch.relu(each[i] - each[j]) for i, j in pairs]).sum()
    (gradient,) = torch.autograd.grad(each.sum() + 0.8 / 2 * hinge, each)
    assert [p.weight for p in step.paths] == pytest.approx(gradient.tolist())


def test_paths_in_the_right_order_are_left_alone() -> None:
    def by_macs(archs: Sequence[Arch]) -> list[float]:
        return [float(c) for c in costs_of(MACRO, np.array(archs, dtype=np.int8))]

    step = Guided()(MACRO, Draw(np.random.default_rng(0), 0, by_macs))
    assert [p.weight for p in step.paths] == [1, 1, 1]


def test_the_strength_grows() -> None:
    def reverse(archs: Sequence[Arch]) -> list[float]:
        return [-float(c) for c in costs_of(MACRO, np.array(archs, dtype=np.int8))]

    first, later = (Guided(ramp=10)(MACRO, Draw(np.random.default_rng(0), at, reverse)) for at in (0, 50))
    assert max(p.weight for p in first.paths) == pytest.approx(1.05)
    assert max(p.weight for p in later.paths) == pytest.approx(1.5)


def test_bad_settings() -> None:
    with pytest.raises(UnknownNameError, match="prior of guided"):
        Guided(prior="mac")
    with pytest.raises(InputError, match=r"must lie in 0\.\.1, got 2"):
        Guided(strength=2)
    with pytest.raises(InputError, match="must not be negative, got -1"):
        Guided(ramp=-1)
    with pytest.raises(InputError, match="two paths"):
        Guided(Uniform())(MACRO, Draw(np.random.default_rng(0)))
