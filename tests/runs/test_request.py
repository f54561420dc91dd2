from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import RunError, TrustError
from supernetic.objective import Constraint, Objective
from supernetic.runs.request import from_record, to_record
from supernetic.runs.trust import trusting
from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.step import Draw, Sampler, Step
from supernetic.searchers.nsga2 import NSGA2
from supernetic.searchers.random import RandomSearch
from supernetic.space import Space
from supernetic.spaces.macro import Macro

ASKED: dict[str, Any] = {
    "space": "macro", "where": ("macs<=20M",), "seed": 3, "allow_test_columns": True, "sampler": {"name": "x"},
}  # fmt: skip


def test_what_is_recorded_is_restored() -> None:
    assert from_record(json.loads(json.dumps(to_record({**ASKED, "limit": None})))) == ASKED


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


@pytest.mark.parametrize("value", [object(), [RandomSearch()], print])
def test_other_objects_cannot_be_restored(value: Any) -> None:
    with pytest.raises(RunError, match=r"searcher was given as an object from Python: call .* (object|Random|<built)"):
        from_record(to_record({"searcher": value}))


@dataclass(frozen=True)
class Within:
    """A sampler of a user's own, which holds another."""

    inner: Sampler
    shares: tuple[float, ...] = (0.5, 0.5)
    limit: int | None = None

    def __call__(self, space: Space, draw: Draw) -> Step:
        return self.inner(space, draw)


def test_objects_are_said_by_their_classes_and_fields() -> None:
    given = {"sampler": Within(Sandwich(), (0.25, 0.75)), "searcher": NSGA2(population=8), "space": Macro(4)}
    record = to_record(given)
    assert record["sampler"]["class"] == f"{__name__}:Within"
    assert record["sampler"]["settings"]["inner"]["class"] == "supernetic.samplers.sandwich:Sandwich"
    with trusting(given=given):
        assert from_record(json.loads(json.dumps(record))) == given
    ours = {k: v for k, v in record.items() if k != "sampler"}
    assert from_record(ours) == {k: given[k] for k in ours}  # our own classes need no trust
    with pytest.raises(TrustError, match=r"class .*:Within of a sampler is code .* --trust-code"):
        from_record(record)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "space",
            "__main__:Mine",
            "is of a script, a notebook or a function and cannot be imported",
        ),
        ("space", "mine:make.<locals>.Mine", "cannot be imported: call the job again"),
        ("space", "no_such_module:Mine", "No module named 'no_such_module'.*: call the job again with the space"),
        ("space", "json:Mine", "has no attribute 'Mine'"),
        ("space", "os:system", "is no class of a space"),
        ("space", "subprocess:Popen", "is no class of a space"),
        ("sampler", "subprocess:Popen", "is no class of a sampler"),
        ("searcher", "subprocess:Popen", "is no class of a searcher"),
        ("space", "supernetic.runs.trust:trusting", "those of supernetic are in supernetic.spaces"),
        ("space", "supernetic.spaces.declared:read", "is no class of a space"),
        ("searcher", "supernetic.searchers.runner:run_search", "is no class of a searcher"),
        ("data", "pathlib:Path", "data cannot be an object of the class"),
    ],
)
def test_classes_that_cannot_be_meant_are_named_with_trust_too(name: str, text: str, words: str) -> None:
    with trusting(True), pytest.raises(RunError, match=words):
        from_record({name: {"class": text, "settings": {"args": "touch mark"}}})


def test_settings_that_do_not_fit_are_named() -> None:
    with pytest.raises(RunError, match=r"macro:Macro cannot be made of its record \(.*nonsense"):
        from_record({"space": {"class": "supernetic.spaces.macro:Macro", "settings": {"nonsense": 1}}})
