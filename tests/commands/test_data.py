from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from supernetic.commands import data
from supernetic.commands.data import get_data, list_data
from supernetic.errors import InputError


def test_list_says_what_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUPERNETIC_DATA", raising=False)
    records = {r["name"]: r for r in json.loads(json.dumps(list_data()))}
    assert records["embedded"]["place"] == "comes with supernetic"
    assert records["cifar10"]["place"] is None
    assert records["cifar10"]["hint"] == "fetch it with: supernetic data get cifar10"
    (tmp_path / "data" / "cifar10").mkdir(parents=True)
    assert {r["name"]: r["place"] for r in list_data()}["cifar10"] == "data/cifar10"


def test_get_refuses_what_it_cannot_fetch(tmp_path: Path) -> None:
    for name, message in {
        "cifar": "did you mean 'cifar10'",
        "embedded": "nothing to fetch",
        "fashion-mnist": "only cifar10 can",
    }.items():
        with pytest.raises(InputError, match=message):
            get_data(name, tmp_path)


@pytest.mark.parametrize(
    ("variable", "to", "place"), [("", None, "data"), ("own:other", None, "own"), ("own", "x", "x")]
)
def test_get_puts_data_where_they_are_looked_for(
    variable: str, to: str | None, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUPERNETIC_DATA", variable.replace(":", os.pathsep))
    monkeypatch.setattr(data, "fetch_cifar10", lambda directory: directory / "archive")
    assert get_data("cifar10", to) == Path(place) / "cifar10" / "archive"
