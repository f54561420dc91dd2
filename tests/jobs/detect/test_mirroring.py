"""Detectors see mirrored images only where objects keep their meaning."""

import numpy as np
import pytest

from supernetic.datasets.dataset import Dataset
from supernetic.errors import InputError
from supernetic.jobs.detect.mirroring import FLIP, NONE, decide_mirroring
from supernetic.jobs.detect.request import DetectRequest


def halves(vertical: bool, count: int = 400) -> Dataset:
    """Noise that is bright on one side: left or right, or above or below."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 100, (count, 32, 32, 3), dtype=np.uint8), np.arange(count) % 2
    for image, label in zip(images, labels, strict=True):
        side = slice(16, None) if label else slice(16)
        image[(side, slice(None)) if vertical else (slice(None), side)] += 120
    rows = np.arange(count)
    splits = {"train": rows[: count // 2], "valid": rows[count // 2 :], "calibrate": rows[:0], "test": rows[:0]}
    return Dataset("halves", images, labels, ("one", "other"), splits, rows, "drawn")


@pytest.mark.parametrize(("vertical", "decided"), [(True, FLIP), (False, NONE)])
def test_by_a_classifier_of_the_objects(vertical: bool, decided: str) -> None:
    decision = decide_mirroring(halves(vertical), minutes=None, steps=30)
    assert decision.augment == decided
    assert "cut out" in decision.reason


def test_few_objects_are_not_mirrored() -> None:
    decision = decide_mirroring(halves(True, 40), minutes=1, steps=None)
    assert decision.augment == NONE
    assert "64 training objects, got 20" in decision.reason


def test_one_class_can_always_be_mirrored() -> None:
    data = halves(False, 40)
    one = Dataset("one", data.images, 0 * data.labels, ("one",), data.splits, data.rows, "drawn")
    assert decide_mirroring(one, minutes=1, steps=None).augment == FLIP


def test_other_augmentations_are_refused() -> None:
    with pytest.raises(InputError, match=r"augment must be one of auto, flip, none for a detector, got cutout"):
        DetectRequest("mobilenetv2", "data", augment="cutout")
