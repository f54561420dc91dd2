from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from supernetic.diagnostics import Diagnostics, network_diagnostics, read_diagnostics
from supernetic.errors import RunError, UnknownNameError
from supernetic.runs.predictions import Prediction, Predictions

CLASSES = ("cat", "dog", "cow")
LABELS = np.array([0, 0, 0, 0, 1, 1, 2])
PREDICTED = np.array([0, 0, 0, 1, 1, 0, 0])
CONFIDENCE = np.array([0.9, 0.8, 0.7, 0.6, 0.9, 0.95, 0.5], np.float32)


def diagnosed(temperature: float | None = 2.0) -> Diagnostics:
    calibrated = None if temperature is None else (CONFIDENCE / 2 + 0.2).astype(np.float32)
    return Diagnostics("model-1", CLASSES, LABELS, Prediction(PREDICTED, CONFIDENCE, temperature, calibrated))


def test_figures() -> None:
    d = diagnosed()
    assert d.confusion.tolist() == [[3, 1, 0], [1, 1, 0], [1, 0, 0]]
    assert d.accuracy == pytest.approx(400 / 7)
    assert d.balanced_accuracy == pytest.approx(125 / 3)
    assert d.f1 == pytest.approx((200 / 3 + 50) / 3)
    assert d.per_class[0] == {"class": "cat", "support": 4, "precision": 60.0, "recall": 75.0, "f1": 200 / 3}
    assert d.per_class[2] == {"class": "cow", "support": 1, "precision": None, "recall": 0.0, "f1": 0.0}


def test_the_surest_mistakes_come_first() -> None:
    mistakes = diagnosed().mistakes()
    assert [(m.image, m.label, m.predicted) for m in mistakes] == [
        (5, "dog", "cat"),
        (3, "cat", "dog"),
        (6, "cow", "cat"),
    ]
    assert mistakes[0].confidence == pytest.approx(95)
    assert [m.image for m in diagnosed().mistakes(1)] == [5]


def test_pairs_of_classes_by_how_often_they_are_confused() -> None:
    labels = np.array([0, 0, 0, 1, 2, 2])
    d = Diagnostics("x", CLASSES, labels, Prediction(np.array([1, 1, 0, 0, 0, 2]), np.ones(6, np.float32)))
    pairs = [(c.label, c.predicted, c.images, round(c.share)) for c in d.confused()]
    assert pairs == [("cat", "dog", 2, 67), ("dog", "cat", 1, 100), ("cow", "cat", 1, 50)]
    assert len(d.confused(2)) == 2


def test_calibration_before_and_after() -> None:
    d = diagnosed()
    assert sum(b.images for b in d.reliability()) == 7
    assert d.calibration_error != d.calibrated_error
    plain = diagnosed(None)
    assert plain.calibrated_error is None
    with pytest.raises(RunError, match="no temperature was fitted for model-1"):
        plain.reliability(calibrated=True)


def test_as_text_and_as_json() -> None:
    text = str(diagnosed())
    assert "accuracy 57.14 %" in text
    assert "dog taken for cat: 1 (50 %)" in text
    assert text.index("cow") < text.index(" dog") < text.index(" cat\n")  # the worst first
    record = json.loads(json.dumps(diagnosed().to_json(), allow_nan=False))
    assert record["per_class"] == diagnosed().per_class
    assert len(record["reliability"]) == 10


def test_names_of_classes_do_not_command_a_terminal() -> None:
    names = ("cat\x1b[2J", "dog", "cow")
    text = str(Diagnostics("x", names, LABELS, diagnosed().prediction))
    assert "\x1b" not in text
    assert "cat?[2J" in text


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run.toml").write_text(tomli_w.dumps({"data": {"classes": list(CLASSES)}}))
    return tmp_path


def test_a_run_has_them_by_name(run: Path) -> None:
    assert read_diagnostics(run) == {}
    with pytest.raises(RunError, match="has no diagnostics: the step `test` writes"):
        network_diagnostics(run, "model-1")
    prediction = diagnosed().prediction
    (run / "predictions.json").write_text(Predictions(LABELS, {"model-1": prediction}).text())
    assert read_diagnostics(run)["model-1"].to_json() == diagnosed().to_json()
    with pytest.raises(UnknownNameError, match="model-1"):
        network_diagnostics(run, "model-2")
