"""What logits say about a network, as metrics of a split: `valid/cross_entropy`, `valid/accuracy`, ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

import numpy as np
import numpy.typing as npt

from .. import calibration
from ..classification import balanced_accuracy, class_figures, macro_f1
from ..errors import UnknownNameError
from ..objective import Metrics

Logits = npt.NDArray[np.float32]  # images x classes
Labels = npt.NDArray[np.int64]

SCORES = ("cross_entropy", "calibrated_cross_entropy", "accuracy")  # the first is the default score
BY_CLASS = {"f1": macro_f1, "balanced_accuracy": balanced_accuracy}  # every class counts alike, however many images
ALL_SCORES = (*SCORES, *BY_CLASS)
CALIBRATION_SPLIT = "calibrate"  # the split on which temperatures are fitted


def full_names(split: str, requested: Sequence[str] | None = None) -> tuple[str, ...]:
    """Full names of the usual scores of a split, or the requested ones, checked."""
    names = tuple(f"{split}/{score}" for score in ALL_SCORES)
    for name in requested or ():
        if name not in names:
            raise UnknownNameError("metric", name, names)
    return tuple(requested or names[: len(SCORES)])


def splits_of(metrics: Sequence[str]) -> tuple[str, ...]:
    """The splits whose logits the metrics need."""
    needed = [m.partition("/")[0] for m in metrics]
    needed += [CALIBRATION_SPLIT for m in metrics if m.endswith("/calibrated_cross_entropy")]
    return tuple(dict.fromkeys(needed))


def scores(metrics: Sequence[str], logits: Mapping[str, Logits], labels: Mapping[str, Labels]) -> Metrics:
    """Compute the metrics of one network.

    Args:
        metrics: Full names.
        logits: By split.
        labels: By split.

    Returns:
        Cross-entropies in nats, all others in percent; all NaN if a logit is not finite.
    """
    if not all(np.isfinite(z).all() for z in logits.values()):
        return dict.fromkeys(metrics, nan)
    values: Metrics = {}
    for name in metrics:
        split, _, score = name.partition("/")
        match score:
            case "accuracy":
                values[name] = calibration.accuracy(logits[split], labels[split])
            case "cross_entropy":
                values[name] = calibration.cross_entropy(logits[split], labels[split])
            case "f1" | "balanced_accuracy":
                z = logits[split]
                values[name] = BY_CLASS[score](class_figures(labels[split], z.argmax(axis=1), z.shape[1]))
            case _:
                t = calibration.safe_temperature(logits[CALIBRATION_SPLIT], labels[CALIBRATION_SPLIT])
                values[name] = calibration.cross_entropy(logits[split], labels[split], t)
    return values
