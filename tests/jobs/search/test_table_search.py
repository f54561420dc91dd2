from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic import pareto
from supernetic.benchmarks import Column, Table
from supernetic.benchmarks.nasbench201 import load
from supernetic.catalog import SEARCHERS
from supernetic.costs import costs_of
from supernetic.errors import BudgetError, InputError, RunError, UnknownNameError
from supernetic.jobs.search.goals import TableSearchResult, skip_ratio
from supernetic.jobs.search.table_search import search_table as search
from supernetic.objective import Objective
from supernetic.runs.directory import TRIALS
from supernetic.spaces.macro import Macro
from supernetic.spaces.scarlet import ScarletS1

QUICK: dict[str, Any] = {"table": "nasbench201", "evaluations": 150}


def test_the_command_of_the_readme(tmp_path: Path) -> None:
    result = search(
        "nasbench201",
        objectives=["max c10_valid_200", "min macs"],
        where=["macs<=100M"],
        out=tmp_path / "run",
    )
    record = result.to_json()
    assert {"run", "front", "hypervolume", "reference", "evaluations"} <= set(record)
    assert record["evaluations"] == len((tmp_path / "run" / TRIALS).read_text().splitlines())
    assert record["run"] == str(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "result.json").read_text()) == record
    table = load()
    for entry in record["front"]:
        assert set(entry) == {"arch", "name", "metrics"}
        assert table.space.parse(entry["name"]) == tuple(entry["arch"])
        row = table.find(np.array([entry["arch"]], dtype=np.int8))[0]
        assert entry["metrics"]["table/c10_valid_200"] == pytest.approx(table["c10_valid_200"].values[row])
        assert type(entry["metrics"]["cost/macs"]) is int
        assert entry["metrics"]["cost/macs"] <= 100e6
    points = np.array([[-e["metrics"]["table/c10_valid_200"], e["metrics"]["cost/macs"]] for e in record["front"]])
    assert len(pareto.front(points)) == len(points)
    assert (np.diff(points[:, 1]) >= 0).all()
    reference = [-record["reference"]["table/c10_valid_200"], record["reference"]["cost/macs"]]
    assert record["hypervolume"] == pytest.approx(pareto.hypervolume(points, reference))
    assert record["true_share"] > 0.99
    assert [e in record["front"] for e in record["chosen"]] == [True] * 5


def test_the_reference_is_the_worst_that_the_constraints_allow(tmp_path: Path) -> None:
    table = load()
    macs, accuracy = costs_of(table.space, table.archs), table["c10_valid_200"].values
    allowed = (macs <= 50e6) & (accuracy >= 20)
    result = search(**QUICK, where=["macs<=50M"], out=tmp_path)
    assert result.reference == {"table/c10_valid_200": accuracy[allowed].min(), "cost/macs": macs[allowed].max()}


@pytest.mark.parametrize("name", SEARCHERS)
def test_every_searcher_by_name_finds_a_front_and_repeats_itself(tmp_path: Path, name: str) -> None:
    lines: list[str] = []
    first = search(**QUICK, searcher=name, out=tmp_path / "a", on_event=lambda e: lines.append(e.text))
    search(**QUICK, searcher=name, out=tmp_path / "b")
    assert first.evaluations == 150
    assert first.front
    assert (tmp_path / "a" / TRIALS).read_bytes() == (tmp_path / "b" / TRIALS).read_bytes()
    assert all("hypervolume" in line and "\n" not in line for line in lines)
    volumes = [float(line.split("hypervolume ")[1].split(",")[0]) for line in lines]
    assert volumes == sorted(volumes)


def test_seeds_differ(tmp_path: Path) -> None:
    search(**QUICK, out=tmp_path / "a")
    search(**QUICK, out=tmp_path / "b", seed=1)
    assert (tmp_path / "a" / TRIALS).read_bytes() != (tmp_path / "b" / TRIALS).read_bytes()


def test_progress_says_one_line_per_generation(tmp_path: Path) -> None:
    lines: list[str] = []
    result = search("nasbench201", population=20, generations=8, out=tmp_path, on_event=lambda e: lines.append(e.text))
    assert len(lines) == pytest.approx(8, abs=1)
    best = max(e["metrics"]["table/c10_valid_200"] for e in result.front)
    assert f"best {best:.6g}," in lines[-1]
    assert all(0 < int(line.split("skips ")[1].rstrip("%")) < 100 for line in lines)


def test_the_skip_ratio_counts_layers_that_do_nothing() -> None:
    space = ScarletS1()
    assert skip_ratio(space, [space.named["all-skip"]]) == 1
    assert skip_ratio(space, [space.named["all-e6k7"]]) == 0
    assert skip_ratio(Macro(), [(0,) * 8]) == 5 / 8  # those that open a stage are convolutions
    assert skip_ratio(Macro(), []) == 0


# --- test data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"objectives": ["max c10_test_200", "min macs"]},
        {"objectives": ["min macs"], "where": ["c10_test_200>=90"]},
        {"objectives": ["max c100_valtest_200"]},
        {"objectives": ["max c10_test_200"], "preset": "scarlet"},
    ],
)
def test_test_columns_are_refused(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="--allow-test-columns"):
        search(**QUICK, **settings, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_test_metrics_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="test/accuracy is test data"):
        search(**QUICK, objectives=["max test/accuracy"], out=tmp_path / "run", allow_test_columns=True)


def test_macro_holds_only_test_data(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only test data"):
        search("macro", out=tmp_path / "run")
    result = search("macro", out=tmp_path / "run", allow_test_columns=True, evaluations=100)
    assert result.objectives == ("max table/mean_acc", "min cost/macs")
    assert tomllib.loads((tmp_path / "run" / "run.toml").read_text())["allow_test_columns"] is True


# --- defaults and presets ---------------------------------------------------------------------------------------------


def test_defaults_are_the_best_score_at_least_macs_above_twice_chance(tmp_path: Path) -> None:
    result = search(**QUICK, out=tmp_path / "a")
    assert result.objectives == ("max table/c10_valid_200", "min cost/macs")
    assert result.where == ("table/c10_valid_200>=20",)
    other = search(**QUICK, objectives=["max c100_valid_12"], where=["c100_valid_12>=0"], out=tmp_path / "b")
    assert other.where == ("table/c100_valid_12>=0",)


def test_the_preset_is_the_paper(tmp_path: Path) -> None:
    result = search(**QUICK, preset="scarlet", out=tmp_path / "a")
    assert result.objectives == ("max table/c10_valid_200", "min cost/macs", "max cost/params")
    assert result.where == ("table/c10_valid_200>40", "cost/macs<500M")
    assert {k: result.searcher[k] for k in ("name", "population", "generations")} == {
        "name": "NSGA2",
        "population": 70,
        "generations": 120,
    }
    assert tuple(result.searcher["weights"]) == (0.4, 0.4, 0.2)
    tighter = search(**QUICK, preset="scarlet", where=["macs<=50M"], out=tmp_path / "b")
    assert set(tighter.where) == {"table/c10_valid_200>40", "cost/macs<=50M"}
    with pytest.raises(InputError, match="at most the score"):
        search(**QUICK, preset="scarlet", objectives=["max c10_valid_200", "min macs"])


def test_operations_can_be_masked(tmp_path: Path) -> None:
    result = search(**QUICK, without=["none", "avg_pool_3x3"], out=tmp_path)
    assert all("none" not in e["name"] and "avg_pool" not in e["name"] for e in result.front)


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    space = ScarletS1()
    archs = np.unique(space.sample(np.random.default_rng(0), 200), axis=0)
    score = np.arange(len(archs), dtype=float)
    table = Table(space, archs, {"valid": Column(score, split="valid")})
    result = search(table, objectives=["max valid", "min macs"], evaluations=1000, out=tmp_path / "run")
    assert result.trials == {"ok": len(archs), "infeasible": 0, "failed": 0}  # a part of its space: only its rows
    assert max(e["metrics"]["table/valid"] for e in result.front) == score.max()
    file = tmp_path / "own.csv"
    rows = [f'"{",".join(map(str, a))}",{s}' for a, s in zip(archs.tolist(), score, strict=True)]
    file.write_text("\n".join(["arch,valid", *rows]))
    again = search(file, space="scarlet-s1", objectives=["max valid", "min macs"], out=tmp_path / "again")
    assert again.front == result.front
    with pytest.raises(InputError, match="say which space"):
        search(file)


# --- run directories --------------------------------------------------------------------------------------------------


def test_the_default_place_is_never_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [search(**QUICK, seed=s).run for s in (0, 1, 0, 1)]
    assert runs[0].startswith("runs/20")
    assert runs[0].endswith("-nasbench201")
    assert runs[1] == runs[0] + "-2"
    assert runs[2:] == runs[:2]


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    search(**QUICK, out=tmp_path, seed=3)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    for change, key in (({"seed": 4}, "seed"), ({"where": ["macs<=90M"]}, "where"), ({"searcher": "spos"}, "searcher")):
        with pytest.raises(RunError, match=key):
            search(**{**QUICK, "seed": 3, "out": tmp_path, **change})
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_finished_run_answers_again(tmp_path: Path) -> None:
    assert search(**QUICK, out=tmp_path) == search(**QUICK, out=tmp_path)
    assert len(search(**QUICK, out=tmp_path, keep=2).chosen) == 2


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"where": ["macs<=1M"]}, BudgetError, "7.783M"),
        ({"where": ["c10_valid_200>=99"]}, BudgetError, "c10_valid_200>=99"),
        ({"where": ["macs>=90M", "macs<=80M"]}, InputError, "contradict"),
        ({"where": ["mac<=90M"]}, UnknownNameError, "macs"),
        ({"where": ["macs=90M"]}, InputError, "--where"),
        ({"objectives": ["max c10_valid_20"]}, UnknownNameError, "c10_valid_200"),
        ({"objectives": ["c10_valid_200"]}, InputError, "max NAME"),
        ({"objectives": ["max macs", "min macs"]}, InputError, "twice"),
        ({"searcher": "nsga"}, UnknownNameError, "nsga2"),
        ({"searcher": "random", "generations": 3}, InputError, "no generations"),
        ({"preset": "scarlett"}, UnknownNameError, "scarlet"),
        ({"weights": [1, 1, 1]}, InputError, "2 numbers"),
        ({"weights": [0, 0]}, InputError, "not all 0"),
        ({"population": 1}, InputError, "population must be at least 2"),
        ({"evaluations": 0}, InputError, "evaluations must be at least 1"),
        ({"keep": 0}, InputError, "keep"),
        ({"seed": -1}, InputError, "seed"),
        ({"table": "nasbench202"}, UnknownNameError, "nasbench201"),
        ({"table": None}, InputError, "needs a table"),
        ({"without": ["nothing"]}, UnknownNameError, "operation"),
    ],
)
def test_bad_input_writes_nothing(
    tmp_path: Path, settings: dict[str, Any], error: type[InputError], words: str
) -> None:
    with pytest.raises(error, match=words) as raised:
        search(**{**QUICK, "out": tmp_path / "run", **settings})
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run").exists()


def test_costs_alone_can_be_searched(tmp_path: Path) -> None:
    result = search(**QUICK, objectives=["min macs", "max params"], out=tmp_path)
    assert result.where == ()
    assert set(result.reference) == {"cost/macs", "cost/params"}


def test_objects_are_as_good_as_text(tmp_path: Path) -> None:
    goals = [Objective("table/c10_valid_200", True), Objective("cost/macs", False)]
    a = search(**QUICK, objectives=goals, out=tmp_path)
    b = search(**QUICK, objectives=["max c10_valid_200", "min macs"], out=tmp_path)
    assert isinstance(a, TableSearchResult)
    assert a == b
