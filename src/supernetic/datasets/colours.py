"""Random brightness, saturation, hue and contrast, each image on its own draw.

Paper: Szegedy et al., "Going deeper with convolutions", 2015, arXiv 1409.4842 (photometric distortions, after Howard,
2013, arXiv 1312.5402). Ranges and the four orders are those of the code released with Inception.

Differences: values are cut to 0..1 after every change, not only at the end.
"""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor

RANGES = {"brightness": 32 / 255, "saturation": 0.5, "hue": 0.2, "contrast": 0.5}  # to either side of no change
ORDERS = (
    ("brightness", "saturation", "hue", "contrast"),
    ("saturation", "brightness", "contrast", "hue"),
    ("contrast", "hue", "brightness", "saturation"),
    ("hue", "saturation", "contrast", "brightness"),
)
COLOUR_ONLY = ("saturation", "hue")  # that gray images have none of


def distort_colours(x: Tensor, generator: torch.Generator) -> Tensor:
    """Change the colours of each image.

    Args:
        x: N x C x H x W in 0..1.
        generator: of the draws.

    Returns:
        Images of the same shape, in 0..1.
    """
    n = len(x)
    order = torch.randint(0, len(ORDERS), (n,), generator=generator)
    drawn = {name: (torch.rand(n, generator=generator) * 2 - 1) * half for name, half in RANGES.items()}
    out = torch.empty_like(x)
    for number, names in enumerate(ORDERS):
        rows = (order == number).nonzero()[:, 0]
        if not len(rows):
            continue
        at = rows.to(x.device)
        part = x[at]
        for name in names:
            if x.shape[1] == 3 or name not in COLOUR_ONLY:
                part = change(name, part, drawn[name][rows].to(x.device))
        out[at] = part
    return out.contiguous(memory_format=torch.channels_last)


def change(name: str, x: Tensor, amount: Tensor) -> Tensor:
    """One change.

    Args:
        name: a key of `RANGES`.
        x: N x C x H x W in 0..1.
        amount: for each image; 0 changes nothing.

    Returns:
        Images of the same shape, in 0..1.
    """
    from kornia.color import hsv_to_rgb, rgb_to_hsv

    by = amount.view(-1, 1, 1, 1)
    match name:
        case "brightness":
            return (x + by).clamp(0, 1)
        case "contrast":
            mean = x.mean((2, 3), keepdim=True)
            return (mean + (1 + by) * (x - mean)).clamp(0, 1)
        case "saturation":
            hsv = rgb_to_hsv(x)
            saturation = (hsv[:, 1:2] * (1 + by)).clamp(0, 1)
            return hsv_to_rgb(torch.cat([hsv[:, :1], saturation, hsv[:, 2:]], dim=1)).clamp(0, 1)
        case _:
            hsv = rgb_to_hsv(x)
            hue = (hsv[:, :1] + 2 * pi * by) % (2 * pi)  # an angle
            return hsv_to_rgb(torch.cat([hue, hsv[:, 1:]], dim=1)).clamp(0, 1)
