"""Recalibration of BN: a derived network's statistics are averaged anew over fixed training images.

Papers: SPOS, arXiv 1904.00420; AttentiveNAS.

Weights of a supernet served many networks, so its running statistics are those of none. Which images are taken, and in
batches of which size, is said here once, for scores and derived networks alike.
"""

from __future__ import annotations

from math import ceil

import torch
from torch import Tensor

from ..datasets.batches import Batches
from ..nn.norm import recalibrate

__all__ = ["RECALIBRATION_IMAGES", "even", "fixed_images", "recalibrate"]

RECALIBRATION_IMAGES, RECALIBRATION_BATCH_IMAGES = 1024, 256


def fixed_images(
    batches: Batches, images: int = RECALIBRATION_IMAGES, batch_size: int = RECALIBRATION_BATCH_IMAGES
) -> tuple[Tensor, ...]:
    """The same training images at every call, without augmentation, in equal batches.

    Args:
        batches: The data.
        images: How many to take.
        batch_size: Images of a batch at most.

    Returns:
        Batches of images.
    """
    fixed = batches.fixed(images)
    return torch.split(fixed, even(len(fixed), batch_size))


def even(n: int, limit: int) -> int:
    """The size of equal batches of at most so many images: a small last one would have odd statistics."""
    return ceil(n / ceil(n / limit))
