"""Prequential description length: the cost of coding all labels, each by a model trained on the labels before it.

Paper: "Small Data, Big Decisions" for the estimate; Dawid, "Present position and potential developments", 1984, for the
principle.
Differences: the labels between two sizes are coded at the cross-entropy that the model of the smaller size has on the
scored split, not on these images themselves; both are samples of the same data.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import numpy.typing as npt

from ..arrays import Floats


def description_length(sizes: Sequence[int], cross_entropy: npt.ArrayLike, classes: int) -> Floats:
    """The length of the labels of the largest subset, in nats.

    The labels of the smallest subset are coded without a model, at log C each. The cross-entropy at the largest size is
    not used.

    Args:
        sizes: Numbers of images, ascending.
        cross_entropy: Nats per label, with the size as the last axis.
        classes: The number of classes C.

    Returns:
        Nats, in the shape of `cross_entropy` without its last axis.
    """
    blocks = np.diff(np.asarray(sizes, dtype=np.float64))
    length: Floats = sizes[0] * log(classes) + np.asarray(cross_entropy, dtype=np.float64)[..., :-1] @ blocks
    return length
