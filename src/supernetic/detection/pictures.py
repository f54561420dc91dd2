"""Test images with the boxes that were found in them, small enough for a page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from .annotations import Annotated
from .evaluation import Detections, matches

SHOWN = 8  # images: half of them those with most mistakes, the others spread over the rest
LONGER_SIDE = 480  # pixels
QUALITY = 80
COLOURS = ("#e6550d", "#3182bd", "#31a354", "#756bb1", "#d62790", "#8c6d31", "#17becf", "#636363")
LINE = 2  # pixels, for each 320 of the image's side

Picture = dict[str, Any]


def shown_images(items: Sequence[Annotated], found: Sequence[Detections], threshold: float) -> list[Picture]:
    """Some images for the page: pixels, what was found, right or wrong, and what was missed.

    Args:
        items: Test images.
        found: What was detected in each.
        threshold: The score from which boxes are shown.

    Returns:
        Records with `name`, `width`, `height`, `jpeg` (base64), `found` and `missed`.
    """
    marked = [(item, d.above(threshold)) for item, d in zip(items, found, strict=True)]
    met = [matches(item, d) for item, d in marked]
    wrong = [
        int((~right).sum() + (~taken & ~item.ignored).sum())
        for (item, _), (right, taken) in zip(marked, met, strict=True)
    ]
    by_mistakes = sorted(range(len(items)), key=lambda i: (-wrong[i], i))
    worst, rest = by_mistakes[: SHOWN // 2], sorted(by_mistakes[SHOWN // 2 :])
    others = [rest[int(p)] for p in np.linspace(0, len(rest) - 1, min(len(rest), SHOWN - len(worst)))] if rest else []
    return [_picture(*marked[i], *met[i]) for i in (*dict.fromkeys(others), *worst)]


def _picture(item: Annotated, found: Detections, right: Any, taken: Any) -> Picture:
    image = item.image()
    image.thumbnail((LONGER_SIDE, LONGER_SIDE))
    data = io.BytesIO()
    image.save(data, "JPEG", quality=QUALITY)
    missed = ~taken & ~item.ignored
    return {
        "name": item.path.name,
        "width": item.width,
        "height": item.height,
        "jpeg": base64.b64encode(data.getvalue()).decode(),
        "found": [
            {"label": int(k), "score": round(float(s), 3), "box": _rounded(b), "right": bool(r)}
            for b, s, k, r in zip(found.boxes, found.scores, found.labels, right, strict=True)
        ],
        "missed": [
            {"label": int(k), "box": _rounded(b)} for b, k in zip(item.boxes[missed], item.labels[missed], strict=True)
        ],
    }


def _rounded(box: Any) -> list[float]:
    return [round(float(v), 1) for v in box]


def draw_boxes(image: Image.Image, found: Detections, classes: Sequence[str], file: Path) -> None:
    """Write an image with boxes drawn into it, each with its class and score.

    Args:
        image: The image.
        found: What to draw.
        classes: Names of the classes.
        file: Where to write it.
    """
    drawn = image.convert("RGB")
    pen = ImageDraw.Draw(drawn)
    width = max(1, round(LINE * max(drawn.size) / 320))
    for box, score, label in zip(found.boxes, found.scores, found.labels, strict=True):
        colour = COLOURS[int(label) % len(COLOURS)]
        pen.rectangle([float(v) for v in box], outline=colour, width=width)
        text = f"{classes[int(label)]} {score:.2f}"
        left, top = float(box[0]), max(0.0, float(box[1]) - 11)
        pen.rectangle(pen.textbbox((left, top), text), fill=colour)
        pen.text((left, top), text, fill="white")
    drawn.save(file)
