from __future__ import annotations

from collections.abc import Callable
from math import isnan

import numpy as np
import pytest
import torch.nn.functional as F

from supernetic.nn.norm import batch_statistics
from supernetic.proxies.probe import Probe
from supernetic.proxies.zico import zico

Look = Callable[..., Probe]


def test_against_two_backward_passes(look: Look) -> None:
    probe = look((3, 1, 2, 0, 4, 3), n=8)
    batches = []
    for rows in (slice(0, 4), slice(4, 8)):
        probe.network.zero_grad()
        with batch_statistics(probe.network):
            F.cross_entropy(probe.network(probe.images[rows]), probe.labels[rows]).backward()  # type: ignore[no-untyped-call]
        batches.append([None if w.grad is None else w.grad.numpy().ravel().copy() for w in probe.weights])
    expected = 0.0
    for one, other in zip(*batches, strict=True):
        if one is None or other is None:
            continue
        gradients = np.array([one, other], dtype=np.float64)
        spread = gradients.std(axis=0)
        if (spread > 0).any():
            expected += np.log((np.abs(gradients).mean(axis=0)[spread > 0] / spread[spread > 0]).sum())
    assert zico(probe) == pytest.approx(expected, rel=1e-3)


def test_it_needs_a_live_network_and_two_batches(look: Look) -> None:
    assert isnan(zico(look((0,) * 6)))
    assert isnan(zico(look((3,) * 6, n=3)))
