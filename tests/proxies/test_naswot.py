from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import numpy as np
import pytest
import torch

from supernetic.blueprint import Layer
from supernetic.nn.norm import batch_statistics
from supernetic.proxies.naswot import naswot
from supernetic.proxies.probe import Probe

Look = Callable[..., Probe]


def test_against_counting_pair_by_pair(look: Look) -> None:
    stem = Layer("stem", "conv", 2, 3, 4, 4, 3, act="relu")
    body = Layer("body", "preconv", 3, 3, 4, 4, 3)
    probe = look((stem, body, Layer("pool", "gap", 3, 3, 4, 1), Layer("logits", "linear", 3, 3, 1, 1)))
    with batch_statistics(probe.network), torch.no_grad():
        first = probe.network.units(stem)["conv"](probe.images)
        # the second rectifier sees what the first let through: on where that is positive
        codes = torch.cat([(z > 0).flatten(1) for z in (first, first.clamp(min=0))], 1).numpy()
    kernel = np.array([[sum(a == b for a, b in zip(r, s, strict=True)) for s in codes] for r in codes])
    assert naswot(probe) == pytest.approx(np.log(np.linalg.det(kernel.astype(float))), rel=1e-9)


def test_images_that_are_not_told_apart_give_no_finite_vote(look: Look) -> None:
    assert not isfinite(naswot(look((0,) * 6)))
    twins = look((3,) * 6)
    assert isfinite(naswot(twins))
    same = look((3,) * 6)
    same.images[1] = same.images[0]
    assert naswot(same) < naswot(twins) - 10
