from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from supernetic.selection.profiles import Profiles

SIZES = (100, 200, 400, 800)
Make = Callable[..., Profiles]


@pytest.fixture
def make() -> Make:
    """Profiles with known truth: for each model a + b n^-1/2, noise between seeds, noise between images."""

    def made(
        models: dict[str, tuple[float, float]],
        seeds: tuple[int, ...] = (3, 3, 2, 2),
        noise: float = 0.01,
        spread: float = 0.3,
        images: int = 400,
    ) -> Profiles:
        rng = np.random.default_rng(7)  # not the seed of the draws
        hard = spread * rng.standard_normal(images)  # an image is hard for all models alike
        cells = {}
        for name, (a, b) in models.items():
            for n, k in zip(SIZES, seeds, strict=True):
                truth = a + b * n**-0.5 + noise * rng.standard_normal(k)
                own = 0.3 * spread * rng.standard_normal((k, images))
                losses = truth[:, None] + hard - hard.mean() + own
                cells[name, n] = np.stack([losses, losses + 0.1, 30 * losses]).astype(np.float32)
        return Profiles(tuple(models), SIZES, 10, cells)

    return made
