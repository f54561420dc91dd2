"""What the logits of a trained model say, image by image.

Paper: "Small Data, Big Decisions": cross-entropy, the same under one temperature, and the error rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..calibration import MAX_TEMPERATURE, MIN_TEMPERATURE, Labels, Logits, safe_temperature

METRICS = ("calibrated_cross_entropy", "cross_entropy", "error")  # nats, nats, %; less is better for all


@dataclass(frozen=True, eq=False)
class Scores:
    """By metric and image, and the temperature that was fitted."""

    values: Floats  # in the order of METRICS
    temperature: float
    calibration: float  # calibrated cross-entropy of the calibration part, on which learning rates are chosen
    bound: bool  # the calibration part says too little: all of it is right, or no temperature is the best


def score(calibration: Logits, calibration_labels: Labels, logits: Logits, labels: Labels) -> Scores:
    """Fit the temperature on one part, score the other; the predicted class of an image stays the same.

    Args:
        calibration: Logits of the calibration part.
        calibration_labels: Its labels.
        logits: Logits of the images that are scored.
        labels: Their labels.

    Returns:
        Scores by metric and image.
    """
    t = safe_temperature(calibration, calibration_labels)
    right = bool((calibration.argmax(axis=1) == calibration_labels).all())
    named = logits.argmax(axis=1)
    wrong = named != labels
    assert ((logits.astype(np.float64) / t).argmax(axis=1) == named).all(), "a temperature changed the error rate"
    values = np.stack([losses(logits, labels, t), losses(logits, labels), 100.0 * wrong])
    bound = right or not MIN_TEMPERATURE * 1.01 < t < MAX_TEMPERATURE / 1.01
    return Scores(values, t, float(losses(calibration, calibration_labels, t).mean()), bound)


def losses(logits: Logits, labels: Labels, temperature: float = 1.0) -> Floats:
    """Negative log-likelihood of each image in nats."""
    z = logits.astype(np.float64) / temperature
    found: Floats = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(z)), labels]
    return found
