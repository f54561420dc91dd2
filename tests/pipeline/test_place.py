from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.pipeline.place import place


def test_by_default_todays_directory_with_a_number_for_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = []
    for seed in (0, 1, 0):
        with place(None, "macro", {"seed": seed}) as run:
            names.append(run.path.name)
    assert names[0].endswith("-macro")
    assert names == [names[0], f"{names[0]}-2", names[0]]


def test_a_named_directory_is_taken(tmp_path: Path) -> None:
    with place(tmp_path / "mine", "macro", {"seed": 0}) as run:
        assert run.path == tmp_path / "mine"
