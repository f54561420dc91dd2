"""The preprocessing of a model as a plain function from an image to a tensor, for any data pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from PIL import Image
from torch import Tensor

from ..datasets.dataset import Images
from ..datasets.images import as_array, fit, recolour, square, upright
from ..errors import InputError
from .card import Card
from .model import read_card


@dataclass(frozen=True, repr=False)
class Transform:
    """`transform(image) -> tensor`: what `predict` does to an image before the network reads it.

    It can be pickled, so that it works in a DataLoader with workers, and behind the `transform=` of torchvision's data
    sets.

    Args:
        card: The card of the model: `read_card(directory)`.
    """

    card: Card

    def __call__(self, image: Image.Image | np.ndarray[Any, Any]) -> Tensor:
        """Prepare one image.

        Args:
            image: A Pillow image, or bytes H x W or H x W x 1 or 3.

        Returns:
            Floats C x resolution x resolution, normalised.
        """
        return self.card.prepare(self._pixels(image))[0].contiguous()

    def _pixels(self, image: Image.Image | np.ndarray[Any, Any]) -> Images:
        resolution, gray = self.card.data_resolution or self.card.resolution, self.card.channels == 1
        if isinstance(image, Image.Image):
            return as_array([square(upright(image), resolution)], resolution, gray)
        if not isinstance(image, np.ndarray):
            raise InputError(f"an image must be a Pillow image or an array, got {type(image).__name__}")
        pixels = image[..., None] if image.ndim == 2 else image
        if pixels.ndim != 3 or pixels.shape[2] not in (1, 3) or 0 in pixels.shape or pixels.dtype != np.uint8:
            shape = " x ".join(map(str, image.shape))
            raise InputError(f"an image must be uint8 of H x W or H x W x 1 or 3, got {image.dtype} of {shape}")
        return recolour(fit(pixels[None], resolution), gray)

    def __repr__(self) -> str:
        card = self.card
        size = f"{card.channels} x {card.resolution} x {card.resolution}"
        return f"Transform({size}, mean={card.mean}, std={card.std})"


def transform(model: str | PathLike[str]) -> Transform:
    """The preprocessing of a model directory.

        images = torchvision.datasets.ImageFolder(folder, transform=supernetic.transform(model))

    Args:
        model: The model directory.

    Returns:
        A function from one image to one tensor; it prepares images exactly as `predict` does.
    """
    return Transform(read_card(model))
