from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.errors import RunError
from supernetic.runs.directory import open_run
from supernetic.runs.location import open_or_resume, resolve_directory


def test_by_default_todays_directory_with_a_number_for_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = []
    for seed in (0, 1, 0):
        with open_or_resume(None, "macro", {"seed": seed}) as run:
            names.append(run.path.name)
    assert names[0].endswith("-macro")
    assert names == [names[0], f"{names[0]}-2", names[0]]
    first, second = (resolve_directory(None, "macro", lambda there, s=seed: there["seed"] == s).name for seed in (0, 1))  # type: ignore[misc]
    assert [first, second, resolve_directory(None, "macro", lambda _: False).name] == [*names[:2], f"{names[0]}-3"]


def test_a_named_directory_is_taken(tmp_path: Path) -> None:
    with open_or_resume(tmp_path / "mine", "macro", {"seed": 0}) as run:
        assert run.path == tmp_path / "mine"
    assert resolve_directory(tmp_path / "other", "macro", lambda _: False) == tmp_path / "other"


def test_an_interruption_says_how_to_go_on_and_releases_the_run(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as caught, open_or_resume(tmp_path, "macro", {}):
        raise KeyboardInterrupt
    assert caught.value.__notes__ == [f"`supernetic resume {tmp_path}` goes on"]
    with pytest.raises(RunError) as failed, open_or_resume(tmp_path, "macro", {}):
        raise RunError("no")
    assert not hasattr(failed.value, "__notes__")
    open_run(tmp_path, {}).close()


def test_an_unfinished_run_of_an_earlier_day_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, seed in (("2020-01-01-macro", 0), ("2020-01-02-macro-2", 0), ("2020-01-03-macro", 1)):
        open_run(tmp_path / "runs" / name, {"seed": seed}).close()
    with open_or_resume(None, "macro", {"seed": 0}) as run:
        assert run.path.name == "2020-01-02-macro-2"
        run.write("result.json", "{}")
    with open_or_resume(None, "macro", {"seed": 0}) as run:
        assert run.path.name == "2020-01-01-macro"
        run.write("result.json", "{}")
    with open_or_resume(None, "macro", {"seed": 0}) as run:  # all are finished: a new one of today
        assert not run.path.name.startswith("2020")
    (tmp_path / "runs/2020-01-03-macro/run.toml").write_bytes(b"\xff")  # damaged: it is not in the way
    assert not resolve_directory(None, "macro", lambda s: s["seed"] == 1).name.startswith("2020")
