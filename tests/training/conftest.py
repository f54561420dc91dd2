"""Small things to train on."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from supernetic.datasets.augment import Augment
from supernetic.datasets.batches import Batches
from supernetic.datasets.dataset import Dataset


class NoiseBatches:
    """Batches of noise with labels that can be read off it; counts which were asked for."""

    def __init__(self, resolution: int = 8, size: int = 8, steps_per_epoch: int = 10) -> None:
        self.resolution, self.size, self.steps_per_epoch = resolution, size, steps_per_epoch
        self.asked: list[int] = []

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        self.asked.append(step)
        generator = torch.Generator().manual_seed(step)
        labels = torch.randint(0, 10, (self.size,), generator=generator)
        x = torch.randn(self.size, 3, self.resolution, self.resolution, generator=generator)
        x[:, 0] += labels[:, None, None] / 3
        return x, labels


def dataset(n: int = 120) -> Dataset:
    rng = np.random.default_rng(0)
    splits = dict(
        zip(("train", "valid", "calibrate", "test"), np.split(np.arange(n), [n - 30, n - 20, n - 10]), strict=True)
    )
    images = rng.integers(0, 256, (n, 8, 8, 3), dtype=np.uint8)
    return Dataset("noise", images, rng.integers(0, 10, n), tuple("abcdefghij"), splits, np.arange(n), "noise")


@pytest.fixture
def noise_batches() -> Callable[..., NoiseBatches]:
    return NoiseBatches


@pytest.fixture
def augmented() -> Batches:
    return Batches(dataset(), batch_size=16, augment=Augment(shift=1, flip=True))
