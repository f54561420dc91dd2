from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from supernetic.reports.sections.networks import drawings, folds, layers
from supernetic.runs.view import read_run

Make = Callable[..., Path]


def test_exported_models_are_drawn_with_their_facts(make: Make) -> None:
    run = read_run(make(race=True))
    shown = drawings(run)["drawings"]
    assert [m.name for m, _, _ in shown] == ["model-1", "model-2"]
    assert shown[0][1].replace("\N{NO-BREAK SPACE}", " ").endswith("0.412 ms, 90.00 % on test images")
    assert len(layers(run)["layers"]) == 2


def test_folds_say_what_became_of_stabilisers(make: Make) -> None:
    name, _, removals = folds(read_run(make()))["folds"][0]
    assert (name, removals) == ("model-1", [("layer3", "forward")])
