"""Recalibration of BN: a derived network's statistics are averaged anew over fixed training images.

Papers: SPOS, arXiv 1904.00420; AttentiveNAS (001).

Weights of a supernet served many networks, so its running statistics are those of none. Which images are taken, and in
batches of which size, is said here once, for scores and derived networks alike.
"""

from __future__ import annotations

from math import ceil

import torch
from torch import Tensor

from ..datasets.batches import Batches
from ..nn.norm import recalibrate

__all__ = ["IMAGES", "even", "fixed_images", "recalibrate"]

IMAGES, BATCH = 1024, 256


def fixed_images(batches: Batches, images: int = IMAGES, batch_size: int = BATCH) -> tuple[Tensor, ...]:
    """The same training images at every call, without augmentation, in equal batches."""
    fixed = batches.fixed(images)
    return torch.split(fixed, even(len(fixed), batch_size))


def even(n: int, most: int) -> int:
    """The size of equal batches of at most so many images: a small last one would have odd statistics."""
    return ceil(n / ceil(n / most))
