from __future__ import annotations

from collections.abc import Callable
from math import isnan

import numpy as np
import pytest
import torch

from supernetic.blueprint import Layer
from supernetic.nn.norm import batch_statistics
from supernetic.proxies.meco import meco
from supernetic.proxies.probe import Probe

Look = Callable[..., Probe]


def test_against_numpy(look: Look) -> None:
    stem = Layer("stem", "conv", 2, 3, 6, 6, 3, act="relu")
    body = Layer("body", "preconv", 3, 4, 6, 6, 3)
    probe = look((stem, body, Layer("pool", "gap", 4, 4, 6, 1), Layer("logits", "linear", 4, 3, 1, 1)))
    with batch_statistics(probe.network), torch.no_grad():
        first = probe.network.units(stem)["conv"](probe.images)  # before the activation
        second = probe.network.units(body)["conv"](first.clamp(min=0))
    expected = sum(np.linalg.eigvalsh(np.corrcoef(x[0].reshape(len(x[0]), -1).numpy())).min() for x in (first, second))
    assert meco(probe) == pytest.approx(expected, abs=1e-5)


def test_channels_that_repeat_one_another_count_nothing(look: Look) -> None:
    stem = Layer("stem", "conv", 2, 3, 6, 6, 3)
    probe = look((stem, Layer("pool", "gap", 3, 3, 6, 1), Layer("logits", "linear", 3, 3, 1, 1)))
    with torch.no_grad():
        probe.weights[0][1] = 2 * probe.weights[0][0]
    assert meco(probe) == pytest.approx(0, abs=1e-5)
    assert isnan(meco(look((0,) * 6)))
