"""Which search is meant. The two searches themselves are tested in `images/` and `test_tabular.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import InputError
from supernetic.jobs.search import job
from supernetic.jobs.search.dispatch import search
from supernetic.jobs.search.goals import SearchResult


def test_with_a_table_the_table_is_searched(tmp_path: Path) -> None:
    told: list[str] = []
    found = search(table="nasbench201", population=10, generations=1, tell=told.append, out=tmp_path / "run")
    assert isinstance(found, SearchResult)
    assert told[0].startswith("generation 1: 10 evaluations")


def test_without_one_images_are(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(job, "search_images", lambda request, **how: seen.append((request, how)))
    search(where="macs<=3M", keep=2)
    search("photos", out="here", dry_run=True)
    (first, _), (second, how) = seen
    assert (first.data, first.where, first.keep) == ("embedded", ("macs<=3M",), 2)
    assert second.data == "photos"
    assert (how["out"], how["dry_run"]) == ("here", True)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"data": "photos", "table": "macro"}, "on images or on a table, got data='photos' and table='macro'"),
        ({"table": "nasbench201", "dry_run": True}, "has no dry run"),
    ],
)
def test_contradictions_are_named(settings: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        search(**settings, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("table", [None, "nasbench201"])
def test_an_unknown_setting_is_an_error_of_the_caller(table: str | None, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="colour"):
        search(table=table, colour="red", out=tmp_path / "run")
