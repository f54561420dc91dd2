from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supernetic
from supernetic import pareto
from supernetic.catalog import SEARCHERS
from supernetic.costs import costs_of
from supernetic.errors import BudgetError, InputError, RunError, SupernetError, UnknownNameError
from supernetic.jobs.optimise.job import HOPELESS_FAILURES, optimise
from supernetic.objective import Constraint, Metrics, Objective
from supernetic.progress import Event
from supernetic.runs.directory import TRIALS
from supernetic.searchers.nsga2 import NSGA2
from supernetic.space import Arch, Choice
from supernetic.spaces.macro import Macro
from supernetic.trials import read_trials

SPACE = Macro()
FAR = "macs<=60M"


def score(arch: Arch) -> float:
    return float(sum(arch))


def two_metrics(arch: Arch) -> dict[str, float]:
    return {"quality": float(sum(arch)), "valid/loss": 1.0 / (1 + arch[0])}


@dataclass
class Count:
    """Counts calls; raises when told to."""

    calls: list[Arch] = field(default_factory=list)
    fails: Callable[[int], Any] = lambda n: None

    def __call__(self, arch: Arch) -> float:
        self.calls.append(arch)
        self.fails(len(self.calls))
        return float(sum(arch))


def raising(error: BaseException, *calls: int) -> Callable[[int], None]:
    def check(n: int) -> None:
        if n in calls:
            raise error

    return check


def test_a_function_of_one_number(tmp_path: Path) -> None:
    result = optimise("macro", score, where=[FAR], budget=120, out=tmp_path / "run")
    assert result.objectives == ("max score", "min cost/macs")
    assert len(result.trials) == 120
    assert set(result.trials.metrics) == {"score", "cost/macs", "cost/params"}
    archs = np.array([t.arch for t in result.trials], dtype=np.int8)
    assert [t.metrics["cost/macs"] for t in result.trials] == costs_of(SPACE, archs).tolist()
    assert all(t.metrics["score"] == sum(t.arch) and t.metrics["cost/macs"] <= 60e6 for t in result.trials)
    points = pareto.points([t.metrics for t in result.trials], result.trials.objectives)
    assert {t.arch for t in result.front} == {result.trials[int(i)].arch for i in pareto.front(points)}
    assert result.best is not None
    assert result.best.metrics["score"] == max(t.metrics["score"] for t in result.trials)


def test_the_search_is_better_than_luck(tmp_path: Path) -> None:
    best = {}
    for searcher in ("random", "evolution"):
        result = optimise(SPACE, score, ["max score"], searcher=searcher, budget=150, out=tmp_path / searcher)
        assert result.best is not None
        best[searcher] = result.best.metrics["score"]
    assert best["evolution"] == 16 > best["random"]


def test_a_function_of_several_numbers(tmp_path: Path) -> None:
    goals = ["max quality", "min params"]
    limits = ["loss<=0.5", "peak<=1G"]
    with pytest.raises(UnknownNameError, match="metric 'loss'"):  # a function's own names are given in full
        optimise("macro", two_metrics, goals, limits, budget=10, out=tmp_path / "wrong")
    result = optimise("macro", two_metrics, goals, ["valid/loss<=0.5", limits[1]], budget=100, out=tmp_path / "run")
    assert set(result.trials.metrics) == {"quality", "valid/loss", "cost/macs", "cost/params", "cost/peak"}
    statuses = {t.status: t for t in result.trials}
    assert statuses["infeasible"].reason == "valid/loss<=0.5 does not hold"
    assert all(t.arch[0] > 0 for t in result.front)


def test_objects_as_goals_limits_and_searcher(tmp_path: Path) -> None:
    goals, limits = [Objective("score", False)], [Constraint("macs", high=60e6)]
    result = optimise(SPACE, score, goals, limits, NSGA2(population=8, generations=2), 500, out=tmp_path)
    assert len(result.trials) < 100  # the searcher ends by itself
    assert result.searcher["population"] == 8
    assert result.best is not None
    assert result.best.metrics["score"] == min(t.metrics["score"] for t in result.trials if t.ok)


@pytest.mark.parametrize("name", [n for n in SEARCHERS if n != "thompson"])
def test_every_searcher(tmp_path: Path, name: str) -> None:
    assert len(optimise("macro", score, searcher=name, budget=40, out=tmp_path).trials) == 40


def test_evaluators_take_many_at_a_time(tmp_path: Path) -> None:
    class Sums:
        metrics = ("toy/sum", "toy/secret")
        test = frozenset({"toy/secret"})
        sizes: list[int] = []  # noqa: RUF012

        def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
            self.sizes.append(len(archs))
            return [{"toy/sum": float(sum(a)), "toy/secret": 0.0} for a in archs]

    result = optimise("macro", Sums(), budget=100, out=tmp_path / "run")
    assert result.objectives == ("max toy/sum", "min cost/macs")
    assert max(Sums.sizes) > 1
    assert set(result.trials.metrics) == {"toy/sum", "toy/secret", "cost/macs", "cost/params"}
    assert optimise("macro", Sums(), ["max sum"], budget=20, out=tmp_path / "short").objectives == ("max toy/sum",)
    with pytest.raises(InputError, match="toy/secret is test data"):
        optimise("macro", Sums(), ["max secret"], out=tmp_path / "test")
    with pytest.raises(UnknownNameError, match="metric 'score'"):
        optimise("macro", Sums(), ["max score"], out=tmp_path / "other")


# --- the run ----------------------------------------------------------------------------------------------------------


def test_the_run_says_what_was_done(tmp_path: Path) -> None:
    result = optimise("macro", score, where=[FAR], budget=30, out=tmp_path / "run")
    record = json.loads((tmp_path / "run" / "result.json").read_text())
    assert record == result.to_json()
    assert record["evaluations"] == 30
    assert record["trials"] == {"ok": 30, "infeasible": 0, "failed": 0}
    assert record["best"]["arch"] == list(result.best.arch if result.best else ())
    settings = tomllib.loads((tmp_path / "run" / "run.toml").read_text())
    assert settings["job"] == "optimise"
    assert settings["evaluate"]["function"] == f"{__name__}:score"
    assert len(settings["evaluate"]["digest"]) == 16
    trials = read_trials(tmp_path / "run")
    assert trials.to_records() == result.trials.to_records()  # names too: the space is made again


def test_the_summary(tmp_path: Path) -> None:
    result = optimise("macro", score, where=[FAR], budget=30, out=tmp_path / "run")
    text = result.summary()
    assert text == str(result)
    assert text.startswith("macro: max score, min cost/macs where cost/macs<=60M\n30 evaluations by NSGA2: a front of ")
    assert text.count("*") == 2  # the best, and what the star means
    assert str(tmp_path / "run") in text


def test_an_interrupted_search_goes_on(tmp_path: Path) -> None:
    whole = Count()
    optimise("macro", whole, budget=80, out=tmp_path / "whole")
    first = Count(fails=raising(KeyboardInterrupt(), 31))
    with pytest.raises(KeyboardInterrupt) as caught:
        optimise("macro", first, budget=80, out=tmp_path / "cut")
    assert caught.value.__notes__ == [f"the same call of `optimise` with out={str(tmp_path / 'cut')!r} goes on"]
    assert len((tmp_path / "cut" / TRIALS).read_text().splitlines()) == 30  # each is recorded at once
    again = Count()
    result = optimise("macro", again, budget=80, out=tmp_path / "cut")
    assert first.calls[:30] + again.calls == whole.calls
    assert (tmp_path / "cut" / TRIALS).read_bytes() == (tmp_path / "whole" / TRIALS).read_bytes()
    idle = Count()
    assert len(optimise("macro", idle, budget=80, out=tmp_path / "cut").trials) == 80
    assert idle.calls == []
    assert result.to_json()["front"]


def other(arch: Arch) -> float:
    return float(sum(arch))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"evaluate": other}, "evaluate.function is '.*:score' there, '.*:other' here"),
        ({"evaluate": partial(score)}, ""),
        ({"seed": 1}, "seed is 0 there, 1 here"),
        ({"where": ["macs<=50M"]}, "belongs to other settings: where is"),
        ({"space": Macro(channels=8)}, "belongs to other settings: space"),
    ],
)
def test_another_search_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"space": "macro", "evaluate": score, "where": [FAR], "budget": 20, "out": tmp_path}
    optimise(**asked)
    if not message:
        optimise(**asked | change)
        return
    with pytest.raises(RunError, match=message) as caught:
        optimise(**asked | change)
    assert "\n" not in str(caught.value)


def test_another_body_under_the_same_name_is_refused(tmp_path: Path) -> None:
    def make(second: bool) -> Callable[[Arch], float]:
        if second:

            def rate(arch: Arch) -> float:
                return 2.0 * sum(arch)
        else:

            def rate(arch: Arch) -> float:
                return 1.0 * sum(arch)

        return rate

    optimise("macro", make(False), budget=10, out=tmp_path)
    with pytest.raises(RunError, match=r"evaluate\.digest is"):
        optimise("macro", make(True), budget=10, out=tmp_path)


def test_resume_says_that_the_call_is_needed(tmp_path: Path) -> None:
    optimise("macro", score, budget=10, out=tmp_path / "run")
    with pytest.raises(RunError, match=r"optimises .*:score, an object from Python: call optimise again with out="):
        supernetic.resume(tmp_path / "run")


@dataclass(frozen=True)
class Mine(Macro):
    """A space that no name stands for."""

    extra: Choice = Choice("x", ("a",))  # noqa: RUF009


def test_a_space_of_ones_own_class(tmp_path: Path) -> None:
    result = optimise(Mine(), score, budget=10, out=tmp_path)
    assert read_trials(tmp_path, Mine()).to_records() == result.trials.to_records()
    settings = tomllib.loads((tmp_path / "run.toml").read_text())
    assert set(settings["space"]) == {"name", "fingerprint"}


def test_a_report_can_be_written(tmp_path: Path) -> None:
    optimise("macro", score, budget=30, out=tmp_path / "run")
    page = supernetic.report(tmp_path / "run").page
    assert page is not None
    assert "macro" in Path(page).read_text()


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_failures_are_recorded_and_the_search_goes_on(tmp_path: Path) -> None:
    events: list[Event] = []
    count = Count(fails=raising(KeyError("missing\nkey"), 1, 7))
    result = optimise("macro", count, budget=40, out=tmp_path, on_event=events.append)
    failed = [t for t in result.trials if t.status == "failed"]
    assert [t.arch for t in failed] == [count.calls[0], count.calls[6]]
    assert failed[0].reason == "KeyError: 'missing\\nkey'"
    assert failed[0].metrics["cost/macs"] > 0
    assert len(count.calls) == len(result.trials) == 40  # none is tried again
    assert result.counts() == {"ok": 38, "infeasible": 0, "failed": 2}
    assert "2 failed: a front of" in str(result)
    assert "failed: KeyError" in str(result)
    assert [e.text for e in events if "KeyError" in e.text and not e.total] != []
    counts = [e.done for e in events if e.total]
    assert counts == list(range(1, 41))
    assert str(events[-1]).startswith("search: 40 of 40, best score ")


def test_values_that_are_not_finite_fail(tmp_path: Path) -> None:
    values = iter([1.0, nan, inf, *[2.0] * 100])
    trials = optimise("macro", lambda arch: next(values), budget=20, out=tmp_path).trials
    assert [t.status for t in trials[:4]] == ["ok", "failed", "failed", "ok"]
    assert trials[1].reason == "score is not a finite number"


def test_a_function_that_never_works_ends_the_search(tmp_path: Path) -> None:
    count = Count(fails=raising(ZeroDivisionError("oops"), *range(1, 1000)))
    with pytest.raises(SupernetError, match=rf"the first {HOPELESS_FAILURES} evaluations all failed, .*: oops"):
        optimise("macro", count, out=tmp_path)
    assert len(count.calls) == HOPELESS_FAILURES


def test_many_failures_after_a_success_do_not(tmp_path: Path) -> None:
    count = Count(fails=raising(ZeroDivisionError(), *range(2, 40)))
    assert optimise("macro", count, budget=50, out=tmp_path).counts()["failed"] == 38
    again = Count(fails=raising(ZeroDivisionError(), *range(1, 40)))
    lines = (tmp_path / TRIALS).read_text().splitlines(keepends=True)
    (tmp_path / TRIALS).write_text("".join(lines[:10]))
    assert optimise("macro", again, budget=50, out=tmp_path).counts()["failed"] > HOPELESS_FAILURES


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "must return a number, or a dictionary of numbers, got None"),
        ("high", "got 'high'"),
        ({"score": "high"}, "got {'score': 'high'}"),
        ({"quality": 1.0}, "unknown metric 'score': choose from quality"),
        (InputError("the user knows better"), "the user knows better"),
    ],
)
def test_a_function_that_does_not_fit_ends_the_search_at_once(tmp_path: Path, answer: Any, message: str) -> None:
    def evaluate(arch: Arch) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(InputError, match=message):
        optimise("macro", evaluate, out=tmp_path)
    assert not (tmp_path / TRIALS).exists()


def test_an_odd_answer_later_is_a_failure(tmp_path: Path) -> None:
    values: Any = iter([1.0, None, *[2.0] * 100])
    trials = optimise("macro", lambda arch: next(values), budget=20, out=tmp_path).trials
    assert trials[1].reason == "TypeError: evaluate must return a number, or a dictionary of numbers, got None"


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"budget": 0}, InputError, "budget must be at least 1, got 0"),
        ({"seed": -1}, InputError, "seed must be at least 0, got -1"),
        ({"objectives": ["max score", "min score"]}, InputError, "got score twice"),
        ({"objectives": ["score"]}, InputError, "an objective is 'max NAME' or 'min NAME'"),
        ({"objectives": ["max test/accuracy"]}, InputError, "test/accuracy is test data"),
        ({"where": ["macs<=1"]}, BudgetError, "macs"),
        ({"where": ["macs<=1M", "macs>=2M"]}, InputError, "contradict"),
        ({"searcher": "nsga3"}, UnknownNameError, "did you mean 'nsga2'"),
        ({"space": "makro"}, UnknownNameError, "did you mean 'macro'"),
        ({"evaluate": 3}, InputError, "evaluate must be a function of an architecture, got int"),
    ],
)
def test_bad_requests_write_nothing(
    tmp_path: Path, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    asked: dict[str, Any] = {"space": "macro", "evaluate": score, "out": tmp_path / "run"}
    with pytest.raises(error, match=message) as caught:
        optimise(**asked | settings)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
