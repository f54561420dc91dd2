from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from supernetic import calibration
from supernetic.errors import UnknownNameError
from supernetic.networks.scores import full_names, scores, splits_of

RNG = np.random.default_rng(0)
LOGITS = {s: RNG.normal(size=(50, 3)).astype(np.float32) * 4 for s in ("valid", "calibrate")}
LABELS = {s: RNG.integers(3, size=50) for s in LOGITS}


def test_names_are_full_and_checked() -> None:
    assert full_names("valid") == ("valid/cross_entropy", "valid/calibrated_cross_entropy", "valid/accuracy")
    assert full_names("test", ["test/accuracy"]) == ("test/accuracy",)
    with pytest.raises(UnknownNameError, match="did you mean 'valid/accuracy'"):
        full_names("valid", ["valid/acuracy"])


def test_every_class_may_count_alike() -> None:
    names = full_names("valid", ["valid/f1", "valid/balanced_accuracy"])
    logits = np.eye(3, dtype=np.float32)[[0, 0, 0, 0, 0, 2]]
    found = scores(names, {"valid": logits}, {"valid": np.array([0, 0, 0, 0, 1, 2])})
    assert found["valid/balanced_accuracy"] == pytest.approx(200 / 3)
    assert found["valid/f1"] == pytest.approx(100 * (8 / 9 + 0 + 1) / 3)


def test_only_calibration_needs_its_split() -> None:
    assert splits_of(["valid/accuracy", "valid/cross_entropy"]) == ("valid",)
    assert splits_of(["valid/calibrated_cross_entropy"]) == ("valid", "calibrate")


def test_the_temperature_comes_from_the_calibration_split() -> None:
    found = scores(full_names("valid"), LOGITS, LABELS)
    t = calibration.temperature(LOGITS["calibrate"], LABELS["calibrate"])
    assert found["valid/calibrated_cross_entropy"] == calibration.cross_entropy(LOGITS["valid"], LABELS["valid"], t)
    assert found["valid/calibrated_cross_entropy"] < found["valid/cross_entropy"]
    assert found["valid/accuracy"] == 100 * (LOGITS["valid"].argmax(1) == LABELS["valid"]).mean()


def test_logits_that_are_not_finite_give_no_number() -> None:
    broken = {**LOGITS, "valid": np.full((50, 3), np.inf, dtype=np.float32)}
    assert all(isnan(v) for v in scores(full_names("valid"), broken, LABELS).values())
