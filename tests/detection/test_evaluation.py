"""COCO's metrics on detections whose scores are known."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from supernetic.detection.annotations import Annotated
from supernetic.detection.evaluation import Detections, best_threshold, matches, overlap, score
from supernetic.detection.packages import PACKAGES, have_detection

needs_packages = pytest.mark.skipif(not have_detection(), reason=f"needs {' and '.join(PACKAGES)}")
BOXES = np.array([[0, 0, 40, 40], [50, 50, 90, 90]], np.float32)


def item(ignored: tuple[bool, bool] = (False, False)) -> Annotated:
    return Annotated(Path("a"), 100, 100, BOXES, np.array([0, 1], np.int64), np.array(ignored))


def found(boxes: npt.NDArray[Any], scores: list[float], labels: list[int]) -> Detections:
    return Detections(boxes.astype(np.float32), np.array(scores, np.float32), np.array(labels, np.int64))


@needs_packages
def test_perfect_detections() -> None:
    scores = score([item()], [found(BOXES, [0.9, 0.8], [0, 1])], ["a", "b"])
    assert scores.metrics["ap"] == pytest.approx(1)
    assert scores.by_class["b"] == {"ap": pytest.approx(1), "ap50": pytest.approx(1), "boxes": 1.0}
    assert scores.metrics["ap_small"] is None  # there is no such box


@needs_packages
def test_half_of_the_boxes_and_none() -> None:
    scores = score([item()], [found(BOXES[:1], [0.9], [0])], ["a", "b"])
    assert scores.metrics["ap50"] == pytest.approx(0.5)
    assert score([item()], [found(BOXES[:0], [], [])], ["a", "b"]).metrics["ap50"] == pytest.approx(0)


@needs_packages
def test_a_box_that_is_a_little_off_counts_at_one_half_only() -> None:
    moved = BOXES + np.array([8, 0, 8, 0])  # overlap 32 / 48
    metrics = score([item()], [found(moved, [0.9, 0.8], [0, 1])], ["a", "b"]).metrics
    assert metrics["ap50"] == pytest.approx(1)
    assert metrics["ap75"] == pytest.approx(0)
    assert metrics["ap"] == pytest.approx(0.4)  # .50, .55, .60, .65 of ten


@needs_packages
def test_ignored_boxes_neither_count_nor_cost() -> None:
    scores = score([item(ignored=(False, True))], [found(BOXES, [0.9, 0.8], [0, 1])], ["a", "b"])
    assert scores.metrics["ap"] == pytest.approx(1)
    assert scores.by_class["b"]["ap"] is None


def test_a_box_is_met_once() -> None:
    boxes = np.concatenate([BOXES[:1], BOXES[:1], BOXES[1:]])
    right, taken = matches(item(), found(boxes, [0.5, 0.9, 0.7], [0, 0, 0]))
    assert right.tolist() == [False, True, False]  # the surer of two; the last has the wrong class
    assert taken.tolist() == [True, False]


def test_the_threshold_parts_right_from_wrong() -> None:
    boxes = np.concatenate([BOXES, BOXES + 5])
    threshold = best_threshold([item()], [found(boxes, [0.9, 0.7, 0.4, 0.3], [0, 1, 1, 0])])
    assert 0.4 < threshold <= 0.7


def test_overlap() -> None:
    others = np.array([[0, 0, 40, 40], [0, 20, 40, 60], [60, 60, 70, 70]], np.float32)
    assert overlap(BOXES[0], others) == pytest.approx([1, 1 / 3, 0])
