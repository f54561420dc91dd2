"""How good predictions of classes are: confusions, figures of each class, macro F1, balanced accuracy, calibration.

Shares are in percent. A class without images in a split has no recall and no F1, and is left out of means over classes.

Paper: Guo et al., "On Calibration of Modern Neural Networks", arXiv 1706.04599: the expected calibration error over
bins of equal width, of the confidence in the predicted class.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Ints

BINS = 10  # of confidences, equally wide

Labels = npt.NDArray[np.integer]


def confusion_matrix(labels: Labels, predicted: Labels, classes: int) -> Ints:
    """Count images by their class and the class that was predicted.

    Args:
        labels: The class of each image.
        predicted: The class that was predicted for it.
        classes: How many there are.

    Returns:
        Classes x predicted classes.
    """
    cells = labels.astype(np.int64) * classes + predicted.astype(np.int64)
    return np.bincount(cells, minlength=classes * classes).reshape(classes, classes).astype(np.int64)


@dataclass(frozen=True)
class ClassFigures:
    """Of every class, in percent; NaN where there is nothing to divide by."""

    support: Ints  # images of the class
    precision: Floats  # of the images that were given this class, those that are of it
    recall: Floats  # of the images of this class, those that were recognised: the accuracy on the class
    f1: Floats  # harmonic mean of precision and recall


def class_figures(labels: Labels, predicted: Labels, classes: int) -> ClassFigures:
    """Precision, recall and F1 of every class.

    Args:
        labels: The class of each image.
        predicted: The class that was predicted for it.
        classes: How many there are.

    Returns:
        The figures. A class that is never predicted has no precision; its F1 is 0 if it has images.
    """
    support, given, right = (
        np.bincount(of, minlength=classes).astype(np.int64) for of in (labels, predicted, labels[labels == predicted])
    )
    both = np.where(support > 0, support + given, 0)
    return ClassFigures(support, _percent(right, given), _percent(right, support), _percent(2 * right, both))


def balanced_accuracy(figures: ClassFigures) -> float:
    """The mean recall over classes, in percent: every class counts alike, however many images it has."""
    return _mean(figures.recall)


def macro_f1(figures: ClassFigures) -> float:
    """The mean F1 over classes, in percent."""
    return _mean(figures.f1)


@dataclass(frozen=True)
class Bin:
    """Images whose confidence lies in one range; means in percent, NaN if there are none."""

    low: float
    high: float
    images: int
    confidence: float  # mean
    accuracy: float


def reliability(confidence: npt.NDArray[np.floating], right: npt.NDArray[np.bool_], bins: int = BINS) -> list[Bin]:
    """Compare confidence with accuracy: a calibrated network is right as often as it says.

    Args:
        confidence: Probability of the predicted class, 0 to 1, of each image.
        right: Whether the prediction is right.
        bins: Ranges of equal width.

    Returns:
        The ranges, from 0 to 100 %.
    """
    edges = np.linspace(0, 1, bins + 1)
    at = np.clip(np.ceil(confidence.astype(np.float64) * bins).astype(np.int64) - 1, 0, bins - 1)  # right ends belong
    found = []
    for i in range(bins):
        mine = at == i
        count = int(mine.sum())
        means = (100 * float(confidence[mine].mean()), 100 * float(right[mine].mean())) if count else (nan, nan)
        found.append(Bin(100 * float(edges[i]), 100 * float(edges[i + 1]), count, *means))
    return found


def calibration_error(bins: list[Bin]) -> float:
    """The expected calibration error in points: the mean distance of confidence and accuracy over all images."""
    images = sum(b.images for b in bins)
    return sum(b.images * abs(b.confidence - b.accuracy) for b in bins if b.images) / images if images else nan


def softmax(logits: npt.NDArray[np.floating], temperature: float = 1.0) -> Floats:
    """Probabilities of the classes, images x classes."""
    z = logits.astype(np.float64) / temperature
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    probabilities: Floats = powers / powers.sum(axis=1, keepdims=True)
    return probabilities


def _percent(part: Ints, whole: Ints) -> Floats:
    share: Floats = np.full(len(part), nan)
    np.divide(100.0 * part, whole, out=share, where=whole > 0)
    return share


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else nan
