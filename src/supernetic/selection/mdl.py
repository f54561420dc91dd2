"""Prequential description length: the cost of all labels, each coded by a model that has learned from those before.

Paper: "Small Data, Big Decisions" (000) for the estimate; Dawid, "Present position and potential developments", 1984,
for the principle.
Differences: the block between two rungs is coded at the cross-entropy that the smaller rung's model has on the scored
split, not on the block itself; both are samples of the same images.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def description_length(sizes: Sequence[int], cross_entropy: npt.ArrayLike, classes: int) -> Floats:
    """Nats for the labels of the largest rung; `cross_entropy` in nats has one number per size in its last axis.

    The first rung is sent with no model at all, log C a label; the largest rung's own score is not used.
    """
    blocks = np.diff(np.asarray(sizes, dtype=np.float64))
    length: Floats = sizes[0] * log(classes) + np.asarray(cross_entropy, dtype=np.float64)[..., :-1] @ blocks
    return length
