from __future__ import annotations

from collections.abc import Callable
from math import isnan, log

import numpy as np
import pytest

from supernetic.blueprint import Layer
from supernetic.proxies.probe import Probe
from supernetic.proxies.synflow import synflow

Look = Callable[..., Probe]


@pytest.mark.parametrize("act", ["relu", "relu6", "hswish"])
def test_of_a_chain_it_is_the_flow_times_the_number_of_layers(look: Look, act: str) -> None:
    chain = (
        Layer("a", "conv", 3, 40, 4, 4, act=act),
        Layer("b", "conv", 40, 50, 4, 4, act=act),
        Layer("pool", "gap", 50, 50, 4, 1),
        Layer("logits", "linear", 50, 7, 1, 1),
    )
    probe = look(chain)
    flow = np.ones(3)
    for weight in probe.weights:
        flow = np.abs(weight.detach().double().numpy().reshape(len(weight), -1)) @ flow
    assert synflow(probe) == pytest.approx(log(3 * flow.sum()), rel=1e-9)


def test_images_do_not_matter(look: Look) -> None:
    assert synflow(look((3,) * 6, n=2)) == synflow(look((3,) * 6, n=5))
    assert synflow(look((3,) * 6, seed=1)) != synflow(look((3,) * 6))


def test_more_paths_let_more_flow(look: Look) -> None:
    assert synflow(look((3, 3, 3, 3, 3, 3))) > synflow(look((0, 0, 0, 3, 0, 0)))
    assert isnan(synflow(look((0,) * 6)))
