"""Every operation against Pillow, which the published policies were written for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from supernetic.datasets import Dataset
from supernetic.datasets.policies import OPERATIONS, apply_operations, apply_policy

SIDE = 28
Pillow = Callable[[Image.Image, float], Image.Image]


def warp(image: Image.Image, a: float, b: float, d: float, e: float, x: float = 0, y: float = 0) -> Image.Image:
    """Output to input, about the centre."""
    c = SIDE / 2
    matrix = (a, b, c - a * c - b * c + x, d, e, c - d * c - e * c + y)
    return image.transform((SIDE, SIDE), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)


EXPECTED: dict[str, Pillow] = {  # of a signed strength in -1..1
    "color": lambda im, s: ImageEnhance.Color(im).enhance(1 + 0.9 * s),
    "contrast": lambda im, s: ImageEnhance.Contrast(im).enhance(1 + 0.9 * s),
    "brightness": lambda im, s: ImageEnhance.Brightness(im).enhance(1 + 0.9 * s),
    "sharpness": lambda im, s: ImageEnhance.Sharpness(im).enhance(1 + 0.9 * s),
    "solarize": lambda im, s: ImageOps.solarize(im, int(np.ceil(255 * (1 - abs(s))))),
    "posterize": lambda im, s: ImageOps.posterize(im, 8 - round(4 * abs(s))),
    "invert": lambda im, s: ImageOps.invert(im),
    "auto_contrast": lambda im, s: ImageOps.autocontrast(im),
    "equalize": lambda im, s: ImageOps.equalize(im),
    "shear_x": lambda im, s: warp(im, 1, 0.3 * s, 0, 1),
    "shear_y": lambda im, s: warp(im, 1, 0, 0.3 * s, 1),
    "translate_x": lambda im, s: warp(im, 1, 0, 0, 1, x=150 / 331 * SIDE * s),
    "translate_y": lambda im, s: warp(im, 1, 0, 0, 1, y=150 / 331 * SIDE * s),
    "rotate": lambda im, s: im.rotate(-30 * s, Image.Resampling.BILINEAR),
}


@pytest.fixture
def colour(embedded: Dataset) -> Tensor:
    """64 images with three real pictures as channels, none of them black or white all over."""
    channels = [embedded.images[i : i + 64, ..., 0] for i in (0, 64, 128)]
    return torch.from_numpy(np.stack(channels, axis=1) // 2 + 40).float() / 255


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("magnitude", [0, 2, 5, 9])
def test_operations_do_what_pillow_does(colour: Tensor, name: str, magnitude: int) -> None:
    number = torch.full((64,), OPERATIONS.index(name))
    made = apply_operations(colour, number, torch.full((64,), float(magnitude)), torch.Generator().manual_seed(0))
    pictures = [Image.fromarray(p) for p in (colour * 255).round().byte().permute(0, 2, 3, 1).numpy()]
    signs = set()
    for result, picture in zip(made.permute(0, 2, 3, 1).numpy() * 255, pictures, strict=True):
        distances = {}
        for sign in (-1, 1):
            expected = np.asarray(EXPECTED[name](picture, sign * magnitude / 9), dtype=np.float64)
            difference = np.abs(result - expected)
            # where geometry meets the border, Pillow repeats the last pixel and we blend with black
            distances[sign] = np.quantile(difference, 0.85 if name in OPERATIONS[:5] else 1)
        best = min(distances, key=lambda s: distances[s])
        assert distances[best] <= 2.5, (name, distances)  # roundings of Pillow, in units of 1/255
        if abs(distances[-1] - distances[1]) > 3:
            signs.add(best)
    if name in (*OPERATIONS[:5], "color", "contrast", "brightness") and magnitude >= 5:
        assert signs == {-1, 1}  # both directions are drawn


def test_number_minus_one_leaves_an_image_alone(colour: Tensor) -> None:
    number = torch.full((64,), OPERATIONS.index("invert"))
    number[::2] = -1
    made = apply_operations(colour, number, torch.zeros(64), torch.Generator())
    assert torch.equal(made[::2], colour[::2])
    assert torch.allclose(made[1::2], 1 - colour[1::2])


def test_each_image_draws_its_own_sub_policy(colour: Tensor) -> None:
    same = colour[:1].repeat(200, 1, 1, 1)
    for policy in ("autoaugment-cifar10", "autoaugment-imagenet", "randaugment"):
        made = apply_policy(policy, same, torch.Generator().manual_seed(0))
        assert len({image.numpy().tobytes() for image in made}) > 30, policy
        assert (made.min() >= 0) & (made.max() <= 1)


def test_gray_images_stay_gray(colour: Tensor) -> None:
    gray = colour[:, :1]
    for policy in ("autoaugment-cifar10", "randaugment"):
        made = apply_policy(policy, gray, torch.Generator().manual_seed(0))
        as_colour = apply_policy(policy, gray.repeat(1, 3, 1, 1), torch.Generator().manual_seed(0))
        assert made.shape == gray.shape
        assert torch.allclose(as_colour, made.expand_as(as_colour), atol=2e-3)
