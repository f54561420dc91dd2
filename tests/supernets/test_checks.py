from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from supernetic import catalog
from supernetic.nn.network import Network
from supernetic.nn.run import NO_REGULARISATION, Regularisation
from supernetic.space import Arch, Space
from supernetic.supernets.supernet import Supernet
from supernetic.testing import ContractError, check_supernet

WITH_SUPERNET = [n for n in catalog.SPACES if n != "efficientnet"]


@pytest.mark.parametrize("name", WITH_SUPERNET)
def test_every_supernet_keeps_the_contract(name: str, small: Callable[[str], Space]) -> None:
    check_supernet(Supernet(small(name), seed=0), n=2)


@pytest.mark.parametrize("kind", ["skip", "relu"])
@pytest.mark.parametrize("name", ["macro", "scarlet-s2", "nasbench101-chain", "nasbench201"])
def test_with_stabilisers_too(name: str, kind: str, small: Callable[[str], Space]) -> None:
    plain: Any = small(name)
    stabilised = replace(plain, stabiliser="skip+pool" if name == "nasbench201" and kind == "skip" else kind)
    check_supernet(Supernet(stabilised, seed=0), n=2)


SPACE = catalog.space("macro:channels=4,resolution=8,head=16")


class Forgetful(Supernet):
    """Runs another path than asked for."""

    def forward(
        self, x: Tensor, arch: Arch, regularisation: Regularisation = NO_REGULARISATION, slice_side: str = "left"
    ) -> Tensor:
        return super().forward(x, (arch[0], 1, *arch[2:]), regularisation, slice_side)


class Impure(Supernet):
    """Evaluation moves a statistic that is not used."""

    def forward(
        self, x: Tensor, arch: Arch, regularisation: Regularisation = NO_REGULARISATION, slice_side: str = "left"
    ) -> Tensor:
        with torch.no_grad():
            self.get_buffer("stem.CONV_K3.C4.conv.norm.num_batches_tracked").add_(1)
        return super().forward(x, arch, regularisation, slice_side)


class Leaky(Supernet):
    """Gives gradients to weights beside the path."""

    def forward(
        self, x: Tensor, arch: Arch, regularisation: Regularisation = NO_REGULARISATION, slice_side: str = "left"
    ) -> Tensor:
        beside = torch.stack([p.sum() for p in self.parameters()]).sum()
        return super().forward(x, arch, regularisation, slice_side) + (beside - beside.detach())


class Costly(Supernet):
    """Builds another network than the blueprint says."""

    def build(self, arch: Arch, *, seed: int | None = None, zero_residual: bool = False) -> Network:
        return super().build((2, *arch[1:]), seed=seed)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Forgetful, "disagree in evaluation"),
        (Impure, "evaluation changes stem"),
        (Leaky, "the network's gradient has the squared norm"),
        (Costly, "MACs and .* parameters, its blueprint has"),
    ],
)
def test_broken_supernets_are_found_out(kind: type[Supernet], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        check_supernet(kind(SPACE, seed=0), n=3)


def test_the_supernet_itself_is_left_alone() -> None:
    supernet = Supernet(SPACE, seed=0).eval()
    before = {n: t.clone() for n, t in supernet.state_dict().items()}
    check_supernet(supernet, n=1)
    assert not supernet.training
    assert all(torch.equal(t, before[n]) for n, t in supernet.state_dict().items())
    assert all(p.grad is None for p in supernet.parameters())
