from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from supernetic.reports.sections.training import training
from supernetic.runs.view import read_run

Make = Callable[..., Path]


def test_curves_of_a_race_are_those_of_the_last_training(make: Make) -> None:
    captions = [caption for caption, _ in training(read_run(make(race=True)))["curves"]]
    assert captions[0].startswith("The supernet: 2,000 steps, loss ")
    assert captions[1].endswith("Of those that went on after the first round, it is the last training.")


def test_a_training_under_way_says_so(make: Make) -> None:
    assert "300 steps so far" in training(read_run(make(until="train")))["curves"][0][0]
    assert training(read_run(make("plan", until="plan"))) == {}
