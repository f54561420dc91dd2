"""Anchors: the boxes that a detector starts from, fitted to the boxes of the training images.

Paper: Lin et al., "Focal loss for dense object detection", arXiv 1708.02002, section 4.
Differences: there the smallest anchor has 4 pixels per pixel of the map and proportions are 1:2, 1:1 and 2:1. Here the
smallest anchor, the proportions and the number of levels are those that meet the training boxes best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .taps import STRIDES

Array = npt.NDArray[np.float64]

SCALES = 2  # sizes of anchors per level, in equal steps up to the next level's
BASES = (1.0, 1.4, 2.0, 2.8, 4.0)  # sides of the smallest anchor that are tried, in pixels of its map
LEVELS = (3, 4, 5)  # numbers of levels that are tried
GAIN = 0.01  # of the mean overlap, for which a further level is worth its time
PROPORTIONS = (1 / 6, 1 / 2, 5 / 6)  # shares of boxes that are lower than an anchor's proportions


@dataclass(frozen=True)
class Anchors:
    """Anchors of a detector.

    Args:
        sizes: By level, the finest first: square roots of areas, in pixels.
        ratios: Heights over widths.
    """

    sizes: tuple[tuple[float, ...], ...]
    ratios: tuple[float, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """Of the levels."""
        return tuple(STRIDES[0] * 2**i for i in range(len(self.sizes)))

    def shapes(self) -> Array:
        """Width and height of every anchor."""
        sizes, roots = np.array(self.sizes).ravel(), np.sqrt(self.ratios)
        return np.stack([np.outer(sizes, 1 / roots).ravel(), np.outer(sizes, roots).ravel()], 1)

    def overlaps(self, sides: Array) -> Array:
        """How well the best anchor meets each box, both in the same place: intersection over union."""
        shapes = self.shapes()
        shared = np.minimum(sides[:, None], shapes[None]).prod(2)
        best: Array = (shared / (sides.prod(1)[:, None] + shapes.prod(1)[None] - shared)).max(1)
        return best


def fit_anchors(sides: Array, labels: npt.NDArray[np.int64]) -> Anchors:
    """The anchors that meet some boxes best; every class counts the same, however many boxes it has.

    Args:
        sides: Widths and heights of boxes, in pixels of the images as the detector sees them.
        labels: Their classes.

    Returns:
        The anchors.
    """
    ratios = np.quantile(sides[:, 1] / sides[:, 0], PROPORTIONS)
    proportions = tuple(round(float(r), 2) for r in np.maximum(ratios, 0.01))
    weights = 1 / np.bincount(labels)[labels]
    best, reached = None, -1.0
    for levels in LEVELS:
        tried = [_anchors(base, levels, proportions) for base in BASES]
        scores = [float(np.average(a.overlaps(sides), weights=weights)) for a in tried]
        if max(scores) > reached + GAIN:
            best, reached = tried[int(np.argmax(scores))], max(scores)
    assert best is not None
    return best


def _anchors(base: float, levels: int, ratios: tuple[float, ...]) -> Anchors:
    strides = [STRIDES[0] * 2**i for i in range(levels)]
    return Anchors(tuple(tuple(round(base * s * 2 ** (k / SCALES), 1) for k in range(SCALES)) for s in strides), ratios)
