"""What a detector costs: multiply-accumulates of its parts, counted while it runs."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode


def detector_macs(detector: Any, height: int, width: int) -> dict[str, int]:
    """MACs for one image.

    Args:
        detector: As `build_detector` made it.
        height: Of the image in pixels.
        width: Of the image in pixels.

    Returns:
        MACs of `body`, `pyramid`, `heads` and `all`.
    """
    images = torch.zeros(1, 3, height, width)
    pyramid = detector.backbone
    mode = pyramid.training
    pyramid.eval()
    with FlopCounterMode(display=False) as body:
        pyramid.body(images)
    with FlopCounterMode(display=False) as both:
        maps = list(pyramid(images).values())
    with FlopCounterMode(display=False) as heads:
        detector.head(maps)
    pyramid.train(mode)
    counts = [c.get_total_flops() // 2 for c in (body, both, heads)]
    return {
        "body": counts[0], "pyramid": counts[1] - counts[0], "heads": counts[2], "all": counts[1] + counts[2],
    }  # fmt: skip
