from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supernetic.benchmarks import nasbench201
from supernetic.commands.rank.scores import column_of, find_runs, find_table, metric_of, split_scores
from supernetic.costs import costs_of
from supernetic.errors import InputError, RunError, TableError, UnknownNameError
from supernetic.spaces.attentive import Attentive


def test_a_table_is_given_or_bundled() -> None:
    table = nasbench201.load()
    assert find_table(Attentive(), table) is table
    assert len(find_table(table.space, None)) == len(table)
    with pytest.raises(TableError, match="no table of attentive is bundled"):
        find_table(Attentive(), None)


def test_scores_are_split_but_names_of_files_are_not(tmp_path: Path) -> None:
    assert split_scores("naswot + ladder:size=500,seeds=2+macs") == ["naswot", "ladder:size=500,seeds=2", "macs"]
    file = tmp_path / "a+b.csv"
    file.write_text("")
    assert split_scores(f"{file}:x") == [f"{file}:x"]
    run = tmp_path / "c+d"
    run.mkdir()
    (run / "run.toml").write_text("")
    assert split_scores(f"{run}:valid/accuracy") == [f"{run}:valid/accuracy"]
    assert find_runs(f"{run}:valid/accuracy") == ([str(run)], "valid/accuracy")
    assert find_runs("jacov") is None


def test_runs_of_a_few_shot_supernet_stand_between_commas(tmp_path: Path) -> None:
    for name in ("a", "b", "c,d"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.toml").write_text("")
    a, b, both = (str(tmp_path / name) for name in ("a", "b", "c,d"))
    assert find_runs(f"{a},{b}") == ([a, b], "")
    assert find_runs(f"{a},{b}:angle") == ([a, b], "angle")
    assert find_runs(both) == ([both], "")
    assert find_runs(f"{a},{tmp_path}/e") is None


def test_other_scores_stay_what_they_are_inside_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert find_runs("jacov") is None
    assert find_runs(".,") is None
    assert split_scores("macs+jacov") == ["macs", "jacov"]
    assert find_runs(".") == (["."], "")


def test_columns_by_name(tmp_path: Path) -> None:
    table = nasbench201.load()
    assert column_of(table, "table/c10_valid_200") is table["c10_valid_200"]
    rows = np.array([3, 99])
    assert column_of(table, "cost/macs").values[rows].tolist() == costs_of(table.space, table.archs[rows]).tolist()
    for later in ("jacov", "ladder:size=40"):
        assert not column_of(table, later).values.any()
    with pytest.raises(UnknownNameError, match="did you mean 'ladder'"):
        column_of(table, "lader")
    with pytest.raises(InputError, match="unknown setting of ladder"):
        column_of(table, "ladder:sise=40")
    with pytest.raises(RunError, match="is not a run"):
        column_of(table, str(tmp_path))


def test_metrics_of_a_run_are_checked_before_anything_is_scored(tmp_path: Path) -> None:
    assert metric_of("") == "valid/cross_entropy"
    assert metric_of("accuracy") == metric_of("valid/accuracy") == "valid/accuracy"
    assert metric_of("angle") == "vote/angle"
    (tmp_path / "run.toml").write_text("")
    with pytest.raises(InputError, match="unknown metric 'angel': did you mean 'angle'"):
        column_of(nasbench201.load(), f"{tmp_path}:angel")
