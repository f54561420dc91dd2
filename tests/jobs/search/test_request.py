from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import InputError
from supernetic.jobs.search.request import SearchRequest
from supernetic.objective import Constraint, Objective
from supernetic.searchers.random import RandomSearch


def test_a_record_says_what_was_asked_and_nothing_else() -> None:
    request = SearchRequest(where=["macs<=20M"], minutes=3.0)
    assert request.record() == {"data": "embedded", "where": ["macs<=20M"], "minutes": 3.0}
    assert SearchRequest.from_record(request.record()) == request


def test_files_are_recorded_by_their_full_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "photos").mkdir()
    monkeypatch.chdir(tmp_path)
    assert SearchRequest("./photos").record()["data"] == str(tmp_path / "photos")


def test_objects_are_recorded_as_text_where_text_can_say_them() -> None:
    request = SearchRequest(objectives=[Objective("cost/macs", False)], where=[Constraint("cost/macs", high=10.0)])
    assert request.record()["objectives"] == ["min cost/macs"]


def test_other_objects_cannot_be_resumed_by_their_record() -> None:
    record = SearchRequest(searcher=RandomSearch()).record()
    assert SearchRequest.from_record(record).searcher == RandomSearch()  # a class of ours with its fields
    with pytest.raises(InputError, match="baselines was given as an object"):
        SearchRequest.from_record(SearchRequest(baselines=[object()]).record())  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"keep": 0}, "keep must be at least 1, got 0"),
        ({"minutes": 0}, "minutes must be more than 0 and finite, got 0"),
        ({"minutes": float("nan")}, "minutes must be more than 0"),
        ({"minutes": float("inf")}, "finite, got inf"),
        ({"retrain": "scrach"}, "unknown way to retrain 'scrach'.*scratch"),
        ({"evidence": "fulll"}, "unknown evidence 'fulll'.*did you mean 'full'"),
        ({"supernet": "maybe"}, "unknown choice of a supernet 'maybe'"),
        ({"teacher": True}, "a search with minutes .*, got no minutes"),
        ({"teacher": True, "minutes": 1, "evidence": "full"}, "got evidence full, which trains controls"),
        ({"teacher": True, "minutes": 1, "retrain": "none"}, "got retrain none"),
        ({"teacher": True, "minutes": 1, "start": "efficientnet-lite0"}, "got start efficientnet-lite0"),
        ({"teacher": True, "minutes": 1, "balance": "weights"}, "got balance weights"),
        ({"population": 1}, "population must be at least 2"),
        ({"workers": 0}, "workers must be at least 1"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        SearchRequest(**settings)


@pytest.mark.parametrize(
    ("settings", "models"),
    [
        ({}, 5),
        ({"minutes": 0.2}, 1),
        ({"minutes": 39}, 1),
        ({"minutes": 40}, 2),
        ({"minutes": 600}, 5),
        ({"minutes": 1, "keep": 4}, 4),
        ({"keep": 9}, 9),
    ],
)
def test_more_models_are_handed_over_where_there_is_time_for_them(settings: dict[str, Any], models: int) -> None:
    assert SearchRequest(**settings).models == models
