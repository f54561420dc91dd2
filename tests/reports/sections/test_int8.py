"""The page's table of quantised models."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from supernetic.ranking.int8 import warning
from supernetic.reports.sections.int8 import HEAD, int8
from supernetic.runs.view import Model

FACTS = {
    "valid/difference": -2.5,
    "valid/high": -1.0,
    "test/accuracy": 79.0,
    "test/difference": -2.0,
    "test/low": -2.9,
    "test/high": -1.1,
    "latency/ms": 0.5,
    "latency/float_ms": 1.0,
    "bytes": 50_000,
    "float_bytes": 200_000,
}


def run(*models: Model) -> Any:
    return SimpleNamespace(chosen=models, path=Path())


def test_float_and_int8_beside_one_another() -> None:
    values = int8(run(Model("model-1", "chosen", int8=FACTS), Model("model-2", "chosen")))
    (row,) = values["int8_rows"]
    assert len(row) == len(HEAD)
    assert [cell.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-") for cell in row] == [
        "model-1", "81.00 %", "79.00 %", "-2.00", "-2.90 to -1.10", "1 ms", "0.5 ms", "50KB of 200KB",
    ]  # fmt: skip
    assert values["int8_images"] == "test images"
    assert values["int8_warnings"] == [warning("model-1", FACTS)]


def test_before_the_test_validation_images_speak_and_without_models_nothing() -> None:
    facts = {"valid/accuracy": 90.0, "valid/difference": 0.5, "valid/low": -0.5, "valid/high": 1.5}
    values = int8(run(Model("model-1", "chosen", int8=facts)))
    assert values["int8_images"] == "validation images"
    assert values["int8_rows"][0][1].startswith("89.50")
    assert not values["int8_warnings"]
    assert not int8(run(Model("model-1", "chosen")))
