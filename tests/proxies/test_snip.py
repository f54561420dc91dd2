from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from supernetic.blueprint import Layer
from supernetic.proxies.probe import Probe
from supernetic.proxies.snip import snip

Look = Callable[..., Probe]
LINEAR = (Layer("pool", "gap", 6, 6, 4, 1), Layer("logits", "linear", 6, 5, 1, 1))


def test_against_the_gradient_of_softmax_regression(look: Look) -> None:
    probe = look(LINEAR)
    x = probe.images.mean((2, 3)).double().numpy()
    weight = probe.weights[0].detach().double().numpy()
    p = np.exp(x @ weight.T)
    p /= p.sum(axis=1, keepdims=True)
    gradient = (p - np.eye(5)[probe.labels.numpy()]).T @ x / len(x)
    assert snip(probe) == pytest.approx(np.abs(weight * gradient).sum(), rel=1e-4)


def test_dead_weights_have_no_say(look: Look) -> None:
    assert snip(look((0,) * 6)) == 0
    assert snip(look((3, 0, 0, 0, 0, 0))) == 0
