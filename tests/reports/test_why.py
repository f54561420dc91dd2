from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from supernetic.errors import UnknownNameError
from supernetic.reports.why import why

Make = Callable[..., Path]


def test_what_a_model_beat_and_what_it_did_not(make: Make) -> None:
    path = make()
    trust = json.loads((path / "trust.json").read_text())
    trust["comparisons"] = [
        {"model": "model-2", "control": "largest", "difference": -2.0, "low": -3.0, "high": -1.0},
        {"model": "model-2", "control": "random-2", "difference": 1.5, "low": 0.5, "high": 2.5},
        {"model": "model-2", "control": "mobilenetv2", "difference": 0.2, "low": -0.8, "high": 1.2},
        {"model": "model-1", "control": "random-1", "difference": 9.0, "low": 8.0, "high": 10.0},
    ]
    (path / "trust.json").write_text(json.dumps(trust))
    lines = why(path, "model-2")
    assert lines[0].startswith("model-2: ")
    first = next(i for i, line in enumerate(lines) if "points of test accuracy" in line)
    assert lines[first : first + 3] == [
        "significantly better than random-2: +1.50 points of test accuracy (95 % interval 0.50 to 2.50)",
        "no significant difference from mobilenetv2: +0.20 points of test accuracy (95 % interval "
        "\N{MINUS SIGN}0.80 to 1.20)",
        "significantly worse than largest: \N{MINUS SIGN}2.00 points of test accuracy (95 % interval "
        "\N{MINUS SIGN}3.00 to \N{MINUS SIGN}1.00)",
    ]
    assert any(line.startswith("model-1 has ") for line in lines)
    assert "significantly worse than model-1: \N{MINUS SIGN}9.00 points" in why(path, "random-1")[-1]


def test_where_it_stands_among_the_trials(make: Make) -> None:
    path = make()
    search = json.loads((path / "search.json").read_text())
    chosen = search["chosen"][2]["metrics"]
    trials = [json.loads(line) for line in (path / "trials.jsonl").read_text().splitlines()]
    cheaper = [t for t in trials if t["status"] == "ok" and t["metrics"]["cost/macs"] <= chosen["cost/macs"]]
    (said,) = (line for line in why(path, "model-3") if "other trial" in line)
    assert said == (f"of {len(cheaper) - 1} other trials with no more MACs, 0 have a better validation cross-entropy")


def test_an_unknown_model_gets_a_suggestion(make: Make) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown model 'model2': did you mean 'model-2'\?"):
        why(make(), "model2")


def test_before_the_test_nothing_is_compared(make: Make) -> None:
    lines = why(make(until="search"), "model-1")
    assert not any("points of test accuracy" in line for line in lines)


def test_the_recommended_model_says_why_and_on_what_footing(make: Make) -> None:
    path = make(race=True)
    trust = json.loads((path / "trust.json").read_text())
    trust["comparisons"] = [
        {"model": "model-1", "control": "plain", "difference": 2.0, "low": 1.0, "high": 3.0, "steps": [1140, 3400],
         "epochs": [12.0, 36.0], "seconds": 20.0},
        {"model": "model-1", "control": "largest", "difference": 20.0, "low": 18.0, "high": 22.0, "steps": [62, 80],
         "epochs": [0.66, 0.85], "seconds": 20.0},
    ]  # fmt: skip
    (path / "trust.json").write_text(json.dumps(trust))
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in why(path, "model-1")]
    assert lines[0].startswith("Take model-1: 90.00 % of the test images right")
    assert lines[1].startswith("Why: it won a race of")
    assert "  validation accuracy 81.50 %: after the first round, in which all networks were trained alike" in lines
    assert (
        "  validation accuracy 90.50 %: after 12,340 steps (132 epochs) in all, in a race of 3 rounds and after it"
        in lines
    )
    compared = [line for line in lines if "points of test accuracy" in line]
    assert compared[0].startswith("significantly better than plain: +2.00 points")
    assert compared[0].endswith("; both trained for 20 s (1,140 to 3,400 steps, 12 to 36 epochs))")
    assert compared[1].startswith(
        "trained alike, but for a time that is too short to tell, with largest: +20.00 points"
    )
    assert not why(path, "model-2")[0].startswith("Take")
