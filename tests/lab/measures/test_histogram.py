from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from supernetic.lab.measures.histogram import Histogram
from supernetic.ranking.robustness import subnets
from supernetic.spaces.macro import Macro


def test_scores_and_the_curve(run: Path) -> None:
    measure = Histogram(n=8, valid=20)
    found = measure(run, Macro(), lambda *_: None)
    scores = measure.scores(run, subnets(Macro(), n=8), lambda *_: None)
    assert found.details["scores"] == pytest.approx(scores.tolist(), abs=1e-4)
    assert found.values["mean"] == pytest.approx(scores.mean())
    assert found.values["sd"] == pytest.approx(np.std(scores, ddof=1))
    assert (found.values["lowest"], found.values["highest"]) == (scores.min(), scores.max())
    losses = [json.loads(line)["loss"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [loss for _, loss in found.details["curve"]] == losses
    assert (found.values["loss"], found.values["loss half-way"]) == (losses[-1], losses[1])  # steps 1, 2, 3
    assert set(found.values) == set(measure.check(Macro()))
