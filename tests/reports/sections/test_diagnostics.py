from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from supernetic.reports.sections.diagnostics import diagnostics
from supernetic.runs.predictions import Prediction, Predictions
from supernetic.runs.view import read_run

Make = Callable[..., Path]


def test_networks_with_predictions_have_a_page(make: Make) -> None:
    run = make()
    assert diagnostics(read_run(run)) == {}
    labels = np.arange(20) % 10
    right = Prediction(labels, np.full(20, 0.9, dtype=np.float32), 1.0, np.full(20, 0.9, dtype=np.float32))
    (run / "predictions.json").write_text(Predictions(labels, {"model-1": right}).text())
    (page,) = diagnostics(read_run(run))["diagnosed"]
    assert page.name == "model-1"
