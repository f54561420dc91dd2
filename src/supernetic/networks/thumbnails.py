"""Small pictures of a data set's images, for reports."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from ..datasets.dataset import Dataset, Images, Indices

LARGEST_SIDE = 64  # pixels: larger images are made smaller, so that a page stays light
COLOURS = 64  # of one picture: it takes a third of the bytes


def thumbnails(dataset: Dataset, rows: Indices) -> list[str]:
    """Make small pictures.

    Args:
        dataset: The images.
        rows: Which of them.

    Returns:
        PNGs in base64, in the order of the rows.
    """
    return [_png(dataset.images[rows[i : i + 1]][0]) for i in range(len(rows))]


def _png(pixels: Images) -> str:
    gray = pixels.shape[2] == 1
    image = Image.fromarray(np.ascontiguousarray(pixels[..., 0] if gray else pixels))
    if image.width > LARGEST_SIDE:
        image = image.resize((LARGEST_SIDE, LARGEST_SIDE), Image.Resampling.LANCZOS)
    if not gray:
        image = image.quantize(COLOURS, dither=Image.Dither.NONE)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()
