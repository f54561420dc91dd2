from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import RunError
from supernetic.objective import Constraint, Objective
from supernetic.runs.directory import open_run
from supernetic.runs.request import FILE, from_record, load_request, save_request, to_record
from supernetic.searchers.random import RandomSearch

ASKED: dict[str, Any] = {"space": "macro", "where": ("macs<=20M",), "seed": 3, "allow_test_columns": True, "sampler": {"name": "x"}}


def test_what_is_remembered_is_recalled_without_place_and_watchers(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", {"seed": 3}) as run:
        save_request(run, {**ASKED, "recipe": None, "out": "here", "dry_run": False, "progress": print})
    assert load_request(tmp_path / "run") == ASKED


def test_files_are_said_by_their_full_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("photos", "macro"):
        (tmp_path / name).mkdir()
    (tmp_path / "fast.toml").touch()
    monkeypatch.chdir(tmp_path)
    given = {"data": "photos", "space": "macro", "recipe": "fast.toml", "baselines": [Path("fast.toml"), "./missing"]}
    assert to_record(given) == {
        "data": str(tmp_path / "photos"),
        "space": "macro",  # the space, not the folder of the same name
        "recipe": str(tmp_path / "fast.toml"),
        "baselines": [str(tmp_path / "fast.toml"), "./missing"],
    }


def test_objects_are_said_where_words_can() -> None:
    given = {"objectives": [Objective("cost/macs", False)], "where": [Constraint("cost/macs", high=1e6)]}
    assert to_record(given) == {"objectives": ["min cost/macs"], "where": ["cost/macs<=1M"]}


@pytest.mark.parametrize("value", [RandomSearch(), [RandomSearch()]])
def test_other_objects_cannot_be_restored(value: Any) -> None:
    with pytest.raises(RunError, match=r"searcher was given as an object from Python: call .* RandomSearch\("):
        from_record(to_record({"searcher": value}))


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_a_missing_or_damaged_record_is_named(tmp_path: Path, text: str | None) -> None:
    if text:
        (tmp_path / FILE).write_text(text)
    with pytest.raises(RunError, match=r"asked.json does not say .*: give the command that began the run once more"):
        load_request(tmp_path)
