from __future__ import annotations

from collections.abc import Callable
from math import isnan

import numpy as np
import pytest
import torch

from supernetic.blueprint import Layer
from supernetic.proxies.probe import Probe
from supernetic.proxies.vkdnw import SMOOTHING, vkdnw

Look = Callable[..., Probe]
CHAIN = (
    Layer("stem", "conv", 2, 4, 8, 8, 3, act="relu"),
    Layer("down", "preconv", 4, 6, 8, 4, 3, 2),
    Layer("block", "mbconv", 6, 6, 4, 4, 3, 1, 2, 12, act="relu", shortcut="identity"),
    Layer("pool", "gap", 6, 6, 4, 1),
    Layer("logits", "linear", 6, 3, 1, 1),
)


def test_against_the_gradients_of_every_logit_of_every_image(look: Look) -> None:
    probe = look(CHAIN, n=5)
    network = probe.network.eval()
    parameters = [p for p in network.parameters() if p.requires_grad]
    fisher = np.zeros((len(parameters), len(parameters)))
    for image in probe.images:
        logits = network(image[None])[0]
        jacobian = np.array(
            [[float(g.flatten()[0]) for g in torch.autograd.grad(z, parameters, retain_graph=True)] for z in logits]
        )
        p = logits.detach().double().softmax(0).numpy()
        p = (1 - SMOOTHING) * p + SMOOTHING / len(p)
        fisher += jacobian.T @ (np.diag(p) - np.outer(p, p)) @ jacobian / len(probe.images)
    deciles = np.quantile(np.maximum(np.linalg.eigvalsh(fisher), 0), np.arange(1, 10) / 10)
    shares = deciles / deciles.sum()
    expected = len(parameters) - sum(s * np.log(s) for s in shares if s > 0)
    network.train()
    assert vkdnw(probe) == pytest.approx(expected, abs=1e-3)
    assert network.training


def test_a_network_without_live_layers_has_none(look: Look) -> None:
    assert isnan(vkdnw(look((0,) * 6)))
