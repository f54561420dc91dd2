from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import RunError
from supernetic.parallel.folders import map_in_folders, pack, scratch_folder, unpack


def counting() -> Callable[..., Any]:
    """Counts to three in a file, one step at a time; the first item stops half-way the first time, dead."""

    def work(item: tuple[int, Path], report: Any) -> int:
        import os

        number, folder = item
        (folder / "inner").mkdir(parents=True, exist_ok=True)
        steps = folder / "inner" / "steps.txt"
        for step in range(len(steps.read_text()) if steps.exists() else 0, 3):
            if number == 0 and step == 2 and not (folder / "died").exists():
                (folder / "died").touch()
                os.kill(os.getpid(), 9)
            with steps.open("a") as file:
                file.write(str(step))
            report(step + 1, 3)
        (folder / ".lock").touch()
        (folder / "result.json").write_text(str(number))
        return number * 10

    return work


def test_in_place_on_this_machine(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    assert map_in_folders(counting(), [1, 2], folders, 1, done="result.json") == [10, 20]
    assert (tmp_path / "b" / "inner" / "steps.txt").read_text() == "012"


def test_on_a_cluster_files_come_back_and_go_on_from_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    from supernetic.parallel.cluster import cluster

    monkeypatch.setenv("SUPERNETIC_SCRATCH", str(tmp_path / "scratch"))
    folders = [tmp_path / "runs" / name for name in "abca"]
    unpack(folders[1], {"inner/steps.txt": b"0x", "old.txt": b""})  # interrupted on this machine
    with cluster("local:2"):
        answers = map_in_folders(
            counting(), [0, 1, 2, 3], folders, 1, done="result.json", given_up=lambda n, reason: f"{n}: {reason}"
        )
    assert answers == [0, 10, 20, 30]
    assert sorted(pack(folders[0])) == ["died", "inner/steps.txt", "result.json"]
    assert pack(folders[0])["result.json"] == b"3"  # the last item of that folder
    assert pack(folders[0])["inner/steps.txt"] == b"012"  # not from the start again
    assert pack(folders[1])["inner/steps.txt"] == b"0x2"
    assert not (folders[1] / ".lock").exists()
    assert not list((tmp_path / "scratch").iterdir())


def test_a_folder_holds_what_was_sent_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run" / "old").mkdir(parents=True)
    (tmp_path / "run" / "old" / "file").touch()
    (tmp_path / "run" / ".lock").touch()
    written: list[str] = []
    replace = Path.replace

    def noted(source: Path, target: Path) -> Path:
        written.append(target.name)
        return replace(source, target)

    monkeypatch.setattr(Path, "replace", noted)
    unpack(tmp_path / "run", {"a/result.json": b"", "result.json": b"{}", "z": b"1"}, "result.json")
    assert sorted(pack(tmp_path / "run")) == ["a/result.json", "result.json", "z"]
    assert (tmp_path / "run" / ".lock").exists()
    assert not (tmp_path / "run" / "old").exists()
    assert written[-1] == "result.json"


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../b", ".hidden", "", "a//../b", "."])
def test_unsafe_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunError, match="unsafe name"):
        unpack(tmp_path / "run", {"good": b"", name: b""})
    assert not (tmp_path / "run").exists()


def test_a_scratch_folder_of_someone_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERNETIC_SCRATCH", str(tmp_path))
    assert scratch_folder(Path("/runs/a")).parent == tmp_path
    assert scratch_folder(Path("/runs/a")) != scratch_folder(Path("/runs/b"))
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(RunError, match="belongs to someone else"):
        scratch_folder(Path("/runs/a"))
