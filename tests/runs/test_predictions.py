from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic.errors import RunError
from supernetic.runs.predictions import (
    Prediction,
    Predictions,
    class_names,
    mistakes_text,
    read_mistakes,
    read_predictions,
)

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n...").decode()
LABELS = np.array([0, 300, 2])
ONE = Prediction(
    np.array([0, 2, 2]), np.array([0.5, 0.25, 1.0], np.float32), 1.5, np.array([0.4, 0.2, 0.9], np.float32)
)
OTHER = Prediction(np.array([300, 300, 300]), np.array([0.1, 0.2, 0.3], np.float32))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "predictions.json").write_text(Predictions(LABELS, {"model-1": ONE, "plain": OTHER}).text())
    return tmp_path


def changed(run: Path, *path: str, value: Any) -> None:
    file = run / "predictions.json"
    record = table = json.loads(file.read_text())
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    file.write_text(json.dumps(record))


def test_what_was_written_is_read(run: Path) -> None:
    found = read_predictions(run, 301)
    assert found is not None
    assert found.labels.tolist() == LABELS.tolist()
    one, other = found.networks["model-1"], found.networks["plain"]
    assert one.predicted.tolist() == [0, 2, 2]
    assert one.confidence.tolist() == ONE.confidence.tolist()
    assert (one.temperature, other.temperature, other.calibrated) == (1.5, None, None)
    assert one.calibrated is not None
    assert one.calibrated == pytest.approx([0.4, 0.2, 0.9])


def test_a_run_without_the_file_has_none(tmp_path: Path) -> None:
    assert read_predictions(tmp_path, 10) is None
    assert read_mistakes(tmp_path) == {}


def packed(values: list[float], kind: str) -> str:
    return base64.b64encode(np.array(values, kind).tobytes()).decode()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("labels",), "?", "labels must be an array in base64"),
        (("labels",), 7, "labels must be an array in base64"),
        (("labels",), "AA==", "labels must be an array in base64"),  # a byte is no whole number
        (("labels",), "", "labels must be those of one image or more"),
        (("labels",), packed([0, 999, 1], "<u2"), "labels must be numbers of 301 classes, from 0 on, got 999"),
        (("networks",), [], "networks must be a table, got list"),
        (("networks", "../x"), {}, "must have a name of letters"),
        (("networks", "plain"), None, "must be a table"),
        (("networks", "plain", "predicted"), packed([1, 2], "<u2"), "must have a value for each of 3 images, got 2"),
        (("networks", "plain", "confidence"), packed([0, 1, 1.5], "<f4"), "must be numbers from 0 to 1"),
        (("networks", "plain", "confidence"), packed([0, 1, float("nan")], "<f4"), "must be numbers from 0 to 1"),
        (("networks", "model-1", "temperature"), -1, "temperature must be a number above 0, got -1"),
        (("networks", "model-1", "calibrated"), None, "calibrated must be an array in base64"),
    ],
)
def test_a_file_from_elsewhere_is_checked(run: Path, path: tuple[str, ...], value: Any, message: str) -> None:
    changed(run, *path, value=value)
    with pytest.raises(RunError, match=message) as error:
        read_predictions(run, 301)
    assert len(str(error.value).splitlines()) == 1


def test_pictures_are_read_again_and_checked(tmp_path: Path) -> None:
    file = tmp_path / "mistakes.json"
    file.write_text(mistakes_text({7: PNG, 3: PNG}))
    assert read_mistakes(tmp_path) == {7: PNG, 3: PNG}
    for bad in ({"x": PNG}, {"1": "<script>"}, {"1": 3}):
        file.write_text(json.dumps({"pictures": bad}))
        with pytest.raises(RunError, match="pictures must be PNGs"):
            read_mistakes(tmp_path)


def test_classes_are_those_of_the_settings() -> None:
    assert class_names({"data": {"classes": ["a", "b"]}}, "run.toml") == ("a", "b")
    unfit: tuple[Any, ...] = ({}, {"data": 3}, {"data": {"classes": "ab"}}, {"data": {"classes": []}})
    for bad in unfit:
        with pytest.raises(RunError, match=r"run.toml: data.classes must be a list"):
            class_names(bad, "run.toml")
