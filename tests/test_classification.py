from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from supernetic.classification import (
    balanced_accuracy,
    calibration_error,
    class_figures,
    confusion_matrix,
    macro_f1,
    reliability,
    softmax,
)

LABELS = np.array([0, 0, 0, 0, 1, 1, 2])
PREDICTED = np.array([0, 0, 0, 1, 1, 0, 0])


def test_confusions_are_counted_by_class_and_prediction() -> None:
    assert confusion_matrix(LABELS, PREDICTED, 3).tolist() == [[3, 1, 0], [1, 1, 0], [1, 0, 0]]


def test_figures_of_classes_by_hand() -> None:
    figures = class_figures(LABELS, PREDICTED, 3)
    assert figures.support.tolist() == [4, 2, 1]
    assert figures.recall == pytest.approx([75, 50, 0])
    assert figures.precision[:2] == pytest.approx([60, 50])
    assert isnan(figures.precision[2])  # never predicted
    assert figures.f1 == pytest.approx([200 * 3 / 9, 50, 0])


def test_every_class_counts_alike_in_means() -> None:
    figures = class_figures(LABELS, PREDICTED, 3)
    assert balanced_accuracy(figures) == pytest.approx(125 / 3)
    assert macro_f1(figures) == pytest.approx((200 / 3 + 50) / 3)


def test_a_class_without_images_is_left_out_of_means() -> None:
    figures = class_figures(np.array([0, 1]), np.array([0, 2]), 3)
    assert balanced_accuracy(figures) == 50
    assert macro_f1(figures) == 50
    assert isnan(figures.f1[2])


def test_reliability_and_calibration_error_by_hand() -> None:
    bins = reliability(np.array([0.95, 0.85, 0.9, 0.3, 1.0]), np.array([True, True, False, False, True]))
    assert [b.images for b in bins] == [0, 0, 1, 0, 0, 0, 0, 0, 2, 2]
    assert (bins[8].confidence, bins[8].accuracy) == pytest.approx((87.5, 50))
    assert calibration_error(bins) == pytest.approx((30 + 2 * 37.5 + 2 * 2.5) / 5)
    assert isnan(calibration_error(reliability(np.array([]), np.array([], bool))))


def test_confidence_that_is_right_as_often_as_it_says_has_no_error() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.2, 1, 100_000)
    assert calibration_error(reliability(confidence, rng.random(100_000) < confidence)) < 1
    assert calibration_error(reliability(confidence, rng.random(100_000) < confidence / 2)) > 20


def test_softmax_at_a_temperature() -> None:
    logits = np.array([[2.0, 0.0], [1e4, 0.0]], np.float32)
    assert softmax(logits)[0] == pytest.approx([0.880797, 0.119203], abs=1e-6)
    assert softmax(logits, 2.0)[0] == pytest.approx([0.731059, 0.268941], abs=1e-6)
    assert softmax(logits)[1].tolist() == [1, 0]
