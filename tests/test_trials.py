from __future__ import annotations

import json
import sys
from math import isnan, nan
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from supernetic.catalog import space as load_space
from supernetic.errors import InputError, RunError, UnknownNameError
from supernetic.jobs.search.table_search import search_table
from supernetic.objective import Objective
from supernetic.searchers import Trial
from supernetic.spaces.macro import Macro
from supernetic.trials import Trials, plot_front, read_trials

GOALS = (Objective("score", True), Objective("cost/macs", False))
ITEMS = (
    Trial((0,), {"score": 3.0, "cost/macs": 30.0}),
    Trial((1,), {"score": 1.0, "cost/macs": 10.0}),
    Trial((2,), {"score": 0.5, "cost/macs": 20.0}),  # dominated by (1,)
    Trial((3,), {"score": 9.0, "cost/macs": 5.0}, "infeasible", "score<=4 does not hold"),
    Trial((4,), {"cost/macs": 1.0}, "failed", "ValueError: no"),
    Trial((5,), {"score": 3.0, "cost/macs": 40.0}),  # dominated by (0,)
)
COLUMNS = ["arch", "name", "status", "reason", "score", "cost/macs", "on_front"]
TRIALS = Trials(ITEMS, GOALS)


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def test_a_sequence_with_a_front() -> None:
    assert list(TRIALS) == list(ITEMS)
    assert TRIALS[-1] is ITEMS[-1]
    assert len(TRIALS) == 6
    assert [t.arch for t in TRIALS.front] == [(1,), (0,)]  # the cheapest first
    assert TRIALS.best is ITEMS[0]  # of two with the best score, the one with fewer MACs
    assert repr(TRIALS) == "Trials(6 trials, 2 on the front)"


def test_a_slice_has_a_front_of_its_own() -> None:
    assert [t.arch for t in TRIALS[2:].front] == [(2,), (5,)]
    assert TRIALS[2:].best is ITEMS[5]


def test_nothing_feasible_and_nothing_asked_for() -> None:
    assert Trials(ITEMS[3:5], GOALS).best is None
    assert len(Trials(ITEMS[3:5], GOALS).front) == 0
    assert Trials(ITEMS).best is None
    assert [r["on_front"] for r in Trials(ITEMS).to_records()] == [False] * 6
    assert Trials(()).to_records() == []


def test_records_are_flat() -> None:
    records = TRIALS.to_records()
    assert all(list(record) == COLUMNS for record in records)
    assert [record["on_front"] for record in records] == [True, True, False, False, False, False]
    assert records[4]["reason"] == "ValueError: no"
    assert isnan(records[4]["score"])
    assert records[3]["score"] == 9


def test_the_space_gives_names() -> None:
    space = Macro()
    arch = (0, 1, 2, 0, 1, 2, 0, 1)
    (record,) = Trials((Trial(arch, {}),), (), space).to_records()
    assert record["name"] == space.name_of(arch) != ""


def test_without_pandas_a_frame_is_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pandas")
    assert json.dumps(TRIALS[:3].to_frame()) == json.dumps(TRIALS[:3].to_records())


def test_with_something_like_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas: Any = ModuleType("pandas")
    pandas.DataFrame = lambda records, columns: SimpleNamespace(records=records, columns=columns)
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    frame = TRIALS.to_frame()
    assert frame.columns == COLUMNS
    assert len(frame.records) == 6
    assert Trials(()).to_frame().columns == ["arch", "name", "status", "reason", "on_front"]


def test_with_pandas() -> None:
    pytest.importorskip("pandas")
    frame = TRIALS.to_frame()
    assert list(frame.columns) == COLUMNS
    assert frame["on_front"].sum() == 2
    assert frame["arch"][5] == (5,)


def test_without_matplotlib_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "matplotlib", "matplotlib.pyplot")
    with pytest.raises(InputError, match=r"needs matplotlib: pip install 'supernetic\[notebook\]'"):
        TRIALS.plot()


@pytest.fixture
def backend() -> None:
    pytest.importorskip("matplotlib").use("agg")


@pytest.mark.usefixtures("backend")
def test_a_plot_shows_what_counts_and_the_front(tmp_path: Path) -> None:
    ax = plot_front(SimpleNamespace(trials=TRIALS))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("cost/macs", "score")
    assert sorted(map(tuple, ax.collections[0].get_offsets().tolist())) == [(10, 1), (20, 0.5), (30, 3), (40, 3)]
    (line,) = ax.lines
    assert [*zip(*line.get_data(), strict=True)] == [(10, 1), (30, 3)]
    ax.figure.savefig(tmp_path / "front.png")
    other = TRIALS.plot(x="score", y="macs", ax=ax)
    assert other is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("score", "cost/macs")


@pytest.mark.usefixtures("backend")
def test_a_plot_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="none of 2 does"):
        Trials(ITEMS[3:5], GOALS).plot()
    with pytest.raises(UnknownNameError, match="metric 'scor'"):
        TRIALS.plot(y="scor")


def test_trials_of_a_run(tmp_path: Path) -> None:
    result = search_table("nasbench201", evaluations=60, where=["macs<=100M"], out=tmp_path / "run")
    trials = read_trials(tmp_path / "run")
    assert len(trials) == result.evaluations
    assert [list(t.arch) for t in trials.front] == [list(r["arch"]) for r in result.front]
    assert [trials.name_of(t) for t in trials.front] == [r["name"] for r in result.front]
    settings = tmp_path / "run/run.toml"
    settings.write_text(settings.read_text().replace(load_space("nasbench201").fingerprint, "another"))
    assert {record["name"] for record in read_trials(tmp_path / "run").to_records()} == {""}
    named = read_trials(tmp_path / "run", load_space("nasbench201"))
    assert [named.name_of(t) for t in named.front] == [r["name"] for r in result.front]


def test_trials_without_settings_have_no_front(tmp_path: Path) -> None:
    (tmp_path / "trials.jsonl").write_text(json.dumps(ITEMS[0].to_json()) + "\n")
    trials = read_trials(tmp_path)
    assert [t.arch for t in trials] == [(0,)]
    assert len(trials.front) == 0


def test_what_is_no_search_has_no_trials(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"has no trials: it has no trials\.jsonl"):
        read_trials(tmp_path / "nowhere")


def test_a_metric_that_is_null_reads_as_nan(tmp_path: Path) -> None:
    (tmp_path / "trials.jsonl").write_text(json.dumps(Trial((0,), {"score": nan}, "failed", "x").to_json()) + "\n")
    assert isnan(read_trials(tmp_path)[0].metrics["score"])


# --- Optuna -----------------------------------------------------------------------------------------------------------


def test_optuna_reads_a_search_back(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    where = ["macs<=100M", "c10_valid_12>=70"]
    search_table(
        "nasbench201", objectives=["max c10_valid_12", "min macs"], where=where, evaluations=30, population=10,
        out=tmp_path / "run",
    )  # fmt: skip
    trials = read_trials(tmp_path / "run")
    database = tmp_path / "optuna.db"
    assert trials[:10].to_optuna(database, "cells") == 10
    assert trials.to_optuna(database, "cells") == 20  # as the search goes on
    study = optuna.load_study(study_name="cells", storage=f"sqlite:///{database}")
    assert [d.name for d in study.directions] == ["MAXIMIZE", "MINIMIZE"]
    assert study.metric_names == ["table/c10_valid_12", "cost/macs"]
    assert len(study.trials) == len(trials) == 30
    space = trials.space
    assert space is not None
    for theirs, ours in zip(study.trials, trials, strict=True):
        assert theirs.values == [ours.metrics["table/c10_valid_12"], ours.metrics["cost/macs"]]
        assert theirs.params == {c.name: str(c.options[g]) for c, g in zip(space.choices, ours.arch, strict=True)}
        assert theirs.user_attrs["name"] == space.name_of(ours.arch)
        assert all(excess <= 0 for excess in theirs.constraints.values()) == ours.ok
        assert len(theirs.constraints) == 2
    assert {t.status for t in trials} == {"ok", "infeasible"}
    front = {tuple(t.user_attrs["arch"]) for t in study.best_trials}
    assert front == {t.arch for t in trials.front}


def test_optuna_has_failures_and_choices_that_depend_on_others(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    space = load_space("scalenet-base")
    archs = [tuple(a) for a in space.sample(np.random.default_rng(0), 15, depth_uniform=True).tolist()]
    items = [Trial(a, {"score": float(i), "cost/macs": 1.0}) for i, a in enumerate(archs)]
    items[3] = Trial(archs[3], {"score": nan, "cost/macs": 1.0}, "failed", "score is not a finite number")
    Trials(tuple(items), GOALS, space).to_optuna(tmp_path / "optuna.db")
    study = optuna.load_study(study_name="supernetic", storage=f"sqlite:///{tmp_path / 'optuna.db'}")
    assert [t.state.name for t in study.trials].count("FAIL") == 1
    assert study.trials[3].user_attrs["reason"] == "score is not a finite number"
    named = [set(t.params) for t in study.trials]
    free = {c.name for c in space.choices if c.parent < 0}
    assert all(free <= names for names in named)
    assert len({len(names) for names in named}) > 1  # shallower networks have fewer choices


def test_optuna_without_a_space_and_a_study_of_other_trials(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    assert TRIALS.to_optuna(tmp_path / "optuna.db") == 6
    assert TRIALS.to_optuna(tmp_path / "optuna.db") == 0
    study = optuna.load_study(study_name="supernetic", storage=f"sqlite:///{tmp_path / 'optuna.db'}")
    assert [t.params for t in study.trials] == [{"gene0": str(i)} for i in range(6)]
    with pytest.raises(InputError, match="has a study 'supernetic' of other trials: give another name"):
        TRIALS[1:].to_optuna(tmp_path / "optuna.db")
    with pytest.raises(InputError, match="a study needs objectives"):
        Trials(ITEMS).to_optuna(tmp_path / "optuna.db")
    with pytest.raises(InputError, match="cannot be used"):
        TRIALS.to_optuna(tmp_path / "nowhere/optuna.db")


def test_without_optuna(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide(monkeypatch, "optuna")
    with pytest.raises(InputError, match=r"supernetic\[optuna\]"):
        TRIALS.to_optuna(tmp_path / "optuna.db")
