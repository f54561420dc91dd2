from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import InputError, UnknownNameError
from supernetic.jobs.request import require_at_least
from supernetic.jobs.search.goals import (
    Generation,
    Goals,
    HypervolumeReference,
    reporter,
    resolve_goals,
    result_of,
    searcher_record,
    with_sizes,
)
from supernetic.objective import Constraint, Objective
from supernetic.runs.directory import open_run
from supernetic.searchers import SearchProblem, Trial
from supernetic.searchers.nsga2 import NSGA2
from supernetic.searchers.random import RandomSearch
from supernetic.spaces.macro import Macro

NAMES = ["cost/macs", "cost/params", "valid/accuracy"]
GOALS = (Objective("valid/accuracy", True), Objective("cost/macs", False))


def asked(**given: Any) -> Goals:
    settings: dict[str, Any] = {"objectives": (), "where": (), "searcher": "nsga2", "preset": None, **given}
    return resolve_goals(NAMES, **settings, score=lambda: Objective("valid/accuracy", True))


# --- what is asked for ------------------------------------------------------------------------------------------------


def test_by_default_the_score_and_macs() -> None:
    assert asked() == Goals(GOALS, (), NSGA2())


def test_short_names_and_objects_are_the_same() -> None:
    texts = asked(objectives=["max accuracy", "min macs"], where=["macs<=3M"], searcher="random")
    objects = asked(objectives=GOALS, where=[Constraint("macs", high=3e6)], searcher=RandomSearch())
    assert texts == objects


def test_a_preset_takes_the_score_and_leaves_room_for_other_limits() -> None:
    made = asked(preset="scarlet", where=["macs<=4M"])
    assert [str(o) for o in made.objectives] == ["max valid/accuracy", "min cost/macs", "max cost/params"]
    assert {c.name: (c.low, c.high) for c in made.where}["cost/macs"] == (float("-inf"), 4e6)
    assert {c.name for c in made.where} == {"cost/macs", "valid/accuracy"}
    assert made.searcher == NSGA2(population=70, generations=120, weights=(0.4, 0.4, 0.2))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"objectives": ["max test/accuracy"]}, "test/accuracy is test data"),
        ({"where": ["test/accuracy>=50"]}, "test/accuracy is test data"),
        ({"objectives": ["min macs", "max macs"]}, "got cost/macs twice"),
        ({"objectives": ["min macs", "max accuracy"], "preset": "scarlet"}, "at most the score, got 2"),
        ({"preset": "scarlett"}, "did you mean 'scarlet'"),
        ({"searcher": "nsga3"}, "did you mean 'nsga2'"),
        ({"where": ["mac<=3"]}, "did you mean 'macs'"),
    ],
)
def test_what_cannot_be_asked_for_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        asked(**given)


def test_numbers_that_are_too_small_are_refused() -> None:
    require_at_least("keep", None, 1)
    require_at_least("keep", 1, 1)
    for value in (0, float("nan")):
        with pytest.raises(InputError, match="keep must be at least 1"):
            require_at_least("keep", value, 1)


def test_a_searcher_takes_the_settings_that_it_has() -> None:
    engine = with_sizes(NSGA2(), 10, None, (1.0, 0.0), 2)
    assert engine == NSGA2(population=10, weights=(1.0, 0.0))
    assert searcher_record(engine)["name"] == "NSGA2"
    assert searcher_record(engine)["population"] == 10
    with pytest.raises(InputError, match="RandomSearch has no population, got 10"):
        with_sizes(RandomSearch(), 10, None, (), 2)
    for weights in [(1.0,), (0.0, 0.0), (-1.0, 1.0)]:
        with pytest.raises(InputError, match="weights must be 2 numbers"):
            with_sizes(NSGA2(), None, None, weights, 2)


def test_names_are_checked() -> None:
    with pytest.raises(UnknownNameError):
        asked(objectives=["max speed"])


# --- on the way, and what was found -----------------------------------------------------------------------------------


def trials() -> list[Trial]:
    """Accuracy and MACs, the first better and worse than the second; then a dominated one, and two to leave out."""
    numbers = [(90.0, 8e6), (80.0, 5e6), (70.0, 6e6), (99.0, 1e6), (0.0, 0.0)]
    statuses = ["ok", "ok", "ok", "infeasible", "failed"]
    archs = [(1,) * 8, (0,) * 8, (0,) * 7 + (1,), (2,) * 8, (2,) * 7 + (1,)]
    return [
        Trial(arch, {"valid/accuracy": x, "cost/macs": y}, status)
        for arch, (x, y), status in zip(archs, numbers, statuses, strict=True)
    ]


def test_a_line_per_population() -> None:
    told: list[Generation] = []
    task = SearchProblem(Macro(), GOALS, ())
    report = reporter(task, lambda _: HypervolumeReference((0.0, 10e6)), NSGA2(population=2), told.append)
    for n in range(1, 6):
        report(trials()[:n])
    assert [g.evaluations for g in told] == [2, 4]
    assert [g.number for g in told] == [1, 2]
    # by hand: 80 x (10M - 5M), and what (90, 8M) adds to it: 10 x (10M - 8M)
    assert told[0].hypervolume == pytest.approx(80 * 5e6 + 10 * 2e6)
    assert told[1].hypervolume == told[0].hypervolume
    assert (told[0].best, told[0].front) == (90.0, 2)
    assert told[0].skips == pytest.approx(5 / 16)  # one of the two networks skips five of its eight layers
    assert str(told[0]).startswith("generation 1: 2 evaluations, front 2, hypervolume 4.2e+08, best 90, skips 31%")


def test_the_result_is_the_front_by_rising_cost(tmp_path: Path) -> None:
    task = SearchProblem(Macro(), GOALS, (Constraint("cost/macs", high=10e6),))
    settings = {"searcher": {"name": "NSGA2"}, "objectives": [str(o) for o in GOALS], "seed": 0}
    with open_run(tmp_path / "run", settings) as run:
        result = result_of(task, HypervolumeReference((0.0, 10e6), 84e7), trials(), run, settings, 1)
    assert [r["metrics"]["cost/macs"] for r in result.front] == [5e6, 8e6]
    assert result.front[0]["name"] == Macro().name_of((0,) * 8)
    assert len(result.chosen) == 1
    assert result.chosen[0] in result.front
    assert result.trials == {"ok": 3, "infeasible": 1, "failed": 1}
    assert result.reference == {"valid/accuracy": 0.0, "cost/macs": 10e6}
    assert result.true_share == pytest.approx(0.5)
    lines = result.lines()
    assert lines[0] == "macro: max valid/accuracy, min cost/macs where cost/macs<=10M"
    assert sum(line.lstrip().startswith("* ") for line in lines[4:-1]) == 1
