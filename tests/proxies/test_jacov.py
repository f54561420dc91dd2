from __future__ import annotations

from collections.abc import Callable
from math import isnan

import numpy as np
import pytest
import torch

from supernetic.blueprint import Layer
from supernetic.nn.norm import batch_statistics
from supernetic.proxies.jacov import EIGENVALUE_OFFSET, jacov
from supernetic.proxies.probe import Probe

Look = Callable[..., Probe]
TINY = (
    Layer("stem", "conv", 1, 6, 4, 4, 3, act="relu"),
    Layer("body", "conv", 6, 6, 4, 4, 3, act="relu"),
    Layer("pool", "gap", 6, 6, 4, 1),
    Layer("logits", "linear", 6, 3, 1, 1),
)


def test_against_finite_differences(look: Look) -> None:
    probe = look(TINY, n=4)
    vote = jacov(probe)
    network, x, step = probe.network.double(), probe.images.double(), 1e-6
    slopes = np.zeros(x.numel())
    with batch_statistics(network), torch.no_grad():
        for i in range(x.numel()):
            ends = []
            for sign in (1, -1):
                moved = x.clone()
                moved.view(-1)[i] += sign * step
                ends.append(float(network(moved).sum()))
            slopes[i] = (ends[0] - ends[1]) / (2 * step)
    values = np.linalg.eigvalsh(np.corrcoef(slopes.reshape(4, 16))) + EIGENVALUE_OFFSET
    assert vote == pytest.approx(-(np.log(values) + 1 / values).sum(), rel=1e-3)


def test_best_are_gradients_without_correlation(look: Look) -> None:
    probe = look(TINY, n=4)
    probe.jacobian = torch.tensor([[1.0, -1, 0, 0, 0, 0], [0, 0, 1, -1, 0, 0], [0, 0, 0, 0, 1, -1]])
    assert jacov(probe) == pytest.approx(-3, abs=1e-3)
    probe.jacobian = torch.tensor([[1.0, -1, 0, 0], [2.0, -2, 0, 0], [0, 0, 1, -1]])
    assert jacov(probe) < -1e4  # two images are all alike


def test_a_network_that_ignores_the_image_has_no_vote(look: Look) -> None:
    assert isnan(jacov(look((0,) * 6)))
    assert not isnan(jacov(look((3,) * 6)))
