from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from supernetic.reports import write_report

Make = Callable[..., Path]


def test_the_footing_of_comparisons_is_told(make: Make) -> None:
    text = write_report(make(race=True)).read_text()
    assert "trained alike in the first round: for 20 s (1,140 to 3,400 steps, 12 to 36 epochs)." in text
    assert "for the same number of steps" in write_report(make("old")).read_text()


def test_a_comparison_after_too_short_a_training_is_marked_as_open(make: Make) -> None:
    path = make(race=True)
    trust = json.loads((path / "trust.json").read_text())
    for c in trust["comparisons"]:
        c |= {"steps": [62, 80], "epochs": [0.66, 0.85], "difference": 20.0, "low": 18.0, "high": 22.0}
    (path / "trust.json").write_text(json.dumps(trust))
    text = write_report(path).read_text()
    assert "too short to tell how they compare when trained to the end" in text
    assert "significantly better" not in text
    assert "beats" not in text
