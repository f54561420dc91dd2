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
    assert [loss for _, loss, _ in found.details["curve"]] == losses
    assert (found.values["loss"], found.values["loss half-way"]) == (losses[-1], losses[1])  # steps 1, 2, 3
    assert set(found.values) == set(measure.check(Macro()))


def test_the_spread_of_single_steps(run: Path) -> None:
    """Recorded beside the mean of every few steps."""
    steps = [
        {"task": "supernet", "step": s, "loss": 2.0, "loss_sd": sd} for s, sd in ((50, 9.0), (100, 0.3), (150, 0.4))
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in steps))
    found = Histogram(n=8, valid=20)(run, Macro(), lambda *_: None)
    assert found.values["loss sd"] == pytest.approx(np.sqrt((0.3**2 + 0.4**2) / 2))  # of the second half
    assert found.details["curve"][0] == [50, 2.0, 9.0]
