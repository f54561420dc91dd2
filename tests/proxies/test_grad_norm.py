from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from supernetic.nn.norm import batch_statistics
from supernetic.proxies.grad_norm import grad_norm
from supernetic.proxies.probe import Probe

Look = Callable[..., Probe]


def test_norms_are_added_up_over_layers(look: Look) -> None:
    probe = look((3, 2, 0, 4, 3, 1))
    with batch_statistics(probe.network):
        F.cross_entropy(probe.network(probe.images), probe.labels).backward()  # type: ignore[no-untyped-call]
    named = probe.network.named_parameters()
    squares = [p.grad.square().sum() for n, p in named if n.endswith("op.weight") and p.grad is not None]
    assert len(squares) > 5
    assert grad_norm(probe) == pytest.approx(float(torch.stack(squares).sqrt().sum()), rel=1e-5)


def test_a_network_that_ignores_the_image_is_last(look: Look) -> None:
    assert grad_norm(look((0,) * 6)) == 0
