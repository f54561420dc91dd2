from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from supernetic.reports import front
from supernetic.reports.drawing import Atlas, draw
from supernetic.runs.view import read_run
from supernetic.space import Space

Make = Callable[..., Path]


def test_all_trials_are_there_and_each_has_its_architecture(make: Make, space: Space) -> None:
    run, atlas = read_run(make(), space), Atlas()
    plot = front.front_plot(run, atlas)
    assert plot is not None
    ElementTree.fromstring(plot.svg)
    points = plot.data["points"]
    scored = [m for m in run.controls if m.score]
    assert len(points) == len(run.trials) + len(scored)
    assert plot.left_out == 0
    assert plot.data["columns"][:2] == ["MACs", "parameters"]
    by_name = {p[3]: p for p in points}
    for trial in run.trials[:20]:
        blueprint = space.blueprint(trial.arch)
        title = next(t for t in by_name if t.endswith(trial.name))
        assert atlas.html(by_name[title][5]) == draw(blueprint)
    first = points[plot.data["first"]]
    assert (first[2], first[3].partition(":")[0]) == ("chosen", "model-3")


def test_better_is_up_whatever_the_score(make: Make, space: Space) -> None:
    plot = front.front_plot(read_run(make(), space), Atlas())
    assert plot is not None
    column = plot.data["columns"].index("supernet's cross-entropy")
    heights = sorted((float(p[4][column]), p[1]) for p in plot.data["points"] if p[2] == "trial")
    assert heights[0][1] < heights[-1][1]  # the smaller cross-entropy is nearer to the top


def test_marks_can_be_chosen_by_what_they_point_to(make: Make, space: Space) -> None:
    plot = front.front_plot(read_run(make(), space), Atlas())
    assert plot is not None
    marks = re.findall(r'class="dot (\w+)" data-i="(\d+)".*?translate\(([\d.]+) ([\d.]+)\)', plot.svg)
    assert len({i for _, i, _, _ in marks}) == sum(p[2] != "trial" for p in plot.data["points"]) > 0
    for style, i, x, y in marks:
        assert plot.data["points"][int(i)][:3] == [float(x), float(y), style]


def test_too_many_trials_are_thinned_but_never_the_front(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "DRAWN_TRIALS", 50)
    run = read_run(make())
    plot = front.front_plot(run, Atlas())
    assert plot is not None
    styles = [p[2] for p in plot.data["points"]]
    assert styles.count("trial") <= 50
    assert styles.count("front") + styles.count("chosen") == sum(t.level > 0 for t in run.trials)
    assert plot.left_out == sum(t.level == 0 for t in run.trials) - styles.count("trial")


def test_without_the_space_there_are_no_drawings_but_of_models(make: Make) -> None:
    path = make()
    (path / "models" / "random-1").mkdir()
    shutil.copy(path / "models/model-1/model.json", path / "models/random-1/model.json")
    plot = front.front_plot(read_run(path), Atlas())
    assert plot is not None
    drawn = [p[3].partition(":")[0] for p in plot.data["points"] if p[5]]
    assert sorted(drawn) == ["model-1", "model-2", "model-3", "random-1"]


def test_only_models_that_are_handed_over_are_marked_as_such(make: Make, space: Space) -> None:
    plot = front.front_plot(read_run(make(race=True), space), Atlas())
    assert plot is not None
    chosen = {p[3].partition(":")[0] for p in plot.data["points"] if p[2] == "chosen"}
    assert chosen == {"model-1", "model-2"}
    assert "candidate" not in {p[2] for p in plot.data["points"]}, "it is among the trials"
    assert plot.data["points"][plot.data["first"]][3].startswith("model-1:")


def test_without_trials_there_is_no_plot(make: Make) -> None:
    assert front.front_plot(read_run(make(until="train")), Atlas()) is None
