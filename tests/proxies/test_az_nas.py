from __future__ import annotations

from collections.abc import Callable
from math import isnan

import numpy as np
import pytest
import torch

from supernetic.blueprint import Layer
from supernetic.proxies.az_nas import SMALL, expressivity, progressivity, trainability
from supernetic.proxies.probe import Probe

Look = Callable[..., Probe]
STEM = Layer("stem", "conv", 2, 4, 8, 8, 3, norm=False)
SAME = Layer("same", "conv", 4, 4, 8, 8, 1, norm=False, stage=1)
HALVES = Layer("halves", "conv", 4, 6, 8, 4, 2, 2, norm=False, stage=2)
POOL, LOGITS = Layer("pool", "gap", 4, 4, 8, 1), Layer("logits", "linear", 4, 5, 1, 1)


def entropy_of(maps: torch.Tensor) -> float:
    rows = maps.detach().double().permute(0, 2, 3, 1).reshape(-1, maps.shape[1]).numpy()
    values = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2
    shares = values / values.sum()
    return float(-(shares * np.log(shares)).sum())


def test_expressivity_and_progressivity_against_singular_values(look: Look) -> None:
    probe = look((STEM, SAME, POOL, LOGITS), n=8)
    with torch.no_grad():
        first = probe.network.units(STEM)["conv"](probe.images)
        second = probe.network.units(SAME)["conv"](first)
    entropies = [entropy_of(first), entropy_of(second)]
    assert expressivity(probe) == pytest.approx(sum(entropies), rel=1e-4)
    assert progressivity(probe) == pytest.approx(entropies[1] - entropies[0], rel=1e-3)


def test_trainability_of_a_linear_map_is_that_of_its_weights(look: Look) -> None:
    probe = look((STEM, SAME, POOL, LOGITS), n=8)
    generator = torch.Generator().manual_seed(probe.seed)
    signs = (2 * torch.randint(0, 2, (8, 4, 8, 8), generator=generator) - 1).double().numpy()
    weight = probe.weights[1].detach().double().numpy()[:, :, 0, 0]
    columns = signs.transpose(0, 2, 3, 1).reshape(-1, 4)
    norm = np.linalg.svd(weight.T @ (columns.T @ columns) / len(columns), compute_uv=False)[0]
    assert trainability(probe) == pytest.approx(2 - norm - 1 / (norm + SMALL), rel=1e-4)


def test_a_strided_block_passes_on_each_of_its_pixels(look: Look) -> None:
    probe = look(
        (STEM, HALVES._replace(kernel=1), POOL._replace(c_in=6, c_out=6, resolution=4), LOGITS._replace(c_in=6))
    )
    generator = torch.Generator().manual_seed(probe.seed)
    signs = (2 * torch.randint(0, 2, (6, 6, 4, 4), generator=generator) - 1).double().numpy()
    weight = probe.weights[1].detach().double().numpy()[:, :, 0, 0]
    columns = signs.transpose(0, 2, 3, 1).reshape(-1, 6)
    norm = np.linalg.svd(weight.T @ (columns.T @ columns) / len(columns), compute_uv=False)[0]  # of one pixel in four
    assert trainability(probe) == pytest.approx(2 - norm - 1 / (norm + SMALL), rel=1e-4)


def test_a_mere_copy_has_no_trainability_and_no_image_none_of_them(look: Look) -> None:
    assert isnan(trainability(look((0, 0, 0, 1, 0, 0))))
    for proxy in (expressivity, progressivity, trainability):
        assert isnan(proxy(look((0,) * 6)))
