from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from threading import Timer

import pytest

from supernetic.errors import RunError
from supernetic.runs.directory import (
    SETTINGS,
    TIMINGS,
    TRIALS,
    jsonable,
    open_run,
    read_records,
    read_settings,
    same_settings,
    write_atomically,
)

WANTED = {"seed": 0, "searcher": {"name": "random", "batch": 3}, "objectives": ("max a", "min b"), "limit": None}


def test_a_run_is_plain_files(tmp_path: Path) -> None:
    with open_run(tmp_path / "a" / "run", WANTED) as run:
        run.append(TRIALS, [{"arch": [1, 2], "value": 0.1}, {"arch": [0, 0], "value": None}])
        run.append(TRIALS, [{"arch": [3, 3]}])
        run.write("note.txt", "hello")
    there = tomllib.loads((run.path / SETTINGS).read_text())
    assert there.pop("versions").keys() == {"supernetic", "python", "numpy"}
    assert there == {"seed": 0, "searcher": {"name": "random", "batch": 3}, "objectives": ["max a", "min b"]}
    lines = (run.path / TRIALS).read_text().splitlines()
    assert [json.loads(line)["arch"] for line in lines] == [[1, 2], [0, 0], [3, 3]]
    assert {p.name for p in run.path.iterdir()} == {SETTINGS, TRIALS, "note.txt", ".lock"}  # no temporary file stays


def test_the_same_settings_resume(tmp_path: Path) -> None:
    with open_run(tmp_path, WANTED) as run:
        run.append(TRIALS, [{"n": 1}])
    before = (tmp_path / SETTINGS).read_bytes()
    with open_run(tmp_path, WANTED) as run:
        assert run.read(TRIALS) == [{"n": 1}]
    assert (tmp_path / SETTINGS).read_bytes() == before
    assert same_settings(tmp_path, WANTED)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, ["seed", "0", "1"]),
        ({"searcher": {"name": "random", "batch": 4}}, ["searcher.batch", "3", "4"]),
        ({"limit": 9}, ["limit", "not set", "9"]),
        ({"objectives": ["max a"]}, ["objectives", "min b"]),
    ],
)
def test_other_settings_are_refused(tmp_path: Path, change: dict[str, object], words: list[str]) -> None:
    open_run(tmp_path, WANTED).close()
    before = (tmp_path / SETTINGS).read_bytes()
    with pytest.raises(RunError) as error:
        open_run(tmp_path, {**WANTED, **change})
    assert all(w in str(error.value) for w in words)
    assert (tmp_path / SETTINGS).read_bytes() == before
    assert not same_settings(tmp_path, {**WANTED, **change})
    open_run(tmp_path, WANTED).close()  # the refusal has released the lock


def test_another_version_is_refused_by_name(tmp_path: Path) -> None:
    open_run(tmp_path, WANTED).close()
    file = tmp_path / SETTINGS
    file.write_text(file.read_text().replace('supernetic = "', 'supernetic = "0.0.'))
    with pytest.raises(RunError, match=r"made by supernetic 0\.0\."):
        open_run(tmp_path, WANTED)


def test_a_directory_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(RunError, match="other files"):
        open_run(tmp_path, WANTED)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_a_kill_before_the_first_file_leaves_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / f".{SETTINGS}.tmp").write_text("se")
    (tmp_path / f".{SETTINGS}.0123456789abcdef.tmp").write_text("se")
    with open_run(tmp_path, WANTED) as run:
        assert read_settings(run.path)["seed"] == 0
        assert not list(tmp_path.glob(".*.tmp"))


def test_what_a_kill_leaves_of_later_files_is_removed(tmp_path: Path) -> None:
    open_run(tmp_path, WANTED).close()
    (tmp_path / "checkpoints").mkdir()
    for name in (".result.json.0123456789abcdef.tmp", "checkpoints/.step-1.safetensors.0123456789abcdef.tmp"):
        (tmp_path / name).write_text("half")
    (tmp_path / "mine.tmp").write_text("precious")
    open_run(tmp_path, WANTED).close()
    assert {p.name for p in tmp_path.rglob("*.tmp")} == {"mine.tmp"}


def test_files_get_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_file_in_the_way_of_a_directory_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken" / "inner").mkdir(parents=True)
    with pytest.raises(OSError):
        write_atomically(tmp_path / "taken", "text")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_files_that_a_run_keeps_are_written_again_if_they_are_lost(tmp_path: Path) -> None:
    files = {"code/mine.py": "x = 1\n"}
    open_run(tmp_path, WANTED, files=files).close()
    (tmp_path / "code" / "mine.py").unlink()
    open_run(tmp_path, WANTED, files=files).close()
    assert (tmp_path / "code" / "mine.py").read_text() == "x = 1\n"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(RunError, match="cannot be written"):
            open_run(place, WANTED)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_directory_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RunError, match="cannot be written"):
            open_run(tmp_path / "run", WANTED)
    finally:
        tmp_path.chmod(0o700)


def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    code = f"from supernetic.runs.directory import open_run; open_run({str(tmp_path)!r}, {{'seed': 0}})"
    with open_run(tmp_path, {"seed": 0}):
        second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "in use by another process" in second.stderr
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_lock_that_is_released_in_time_is_waited_for(tmp_path: Path) -> None:
    first = open_run(tmp_path, {"seed": 0})
    with pytest.raises(RunError, match="in use"):
        open_run(tmp_path, {"seed": 0}, patience=0.2)
    Timer(0.3, first.close).start()
    open_run(tmp_path, {"seed": 0}, patience=20).close()


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    with open_run(tmp_path, WANTED) as run:
        run.append(TRIALS, [{"n": 1}, {"n": 2}])
    whole = (tmp_path / TRIALS).read_bytes()
    for torn in (b'{"n"', b'{"n": 3}', b"\x00"):
        (tmp_path / TRIALS).write_bytes(whole + torn)
        assert read_records(tmp_path / TRIALS) == [{"n": 1}, {"n": 2}]
        open_run(tmp_path, WANTED).close()
        assert (tmp_path / TRIALS).read_bytes() == whole


def test_damage_elsewhere_is_an_error(tmp_path: Path) -> None:
    (tmp_path / TRIALS).write_bytes(b'{"n": 1}\nrubbish\n{"n": 3}\n')
    with pytest.raises(RunError, match="damaged"):
        read_records(tmp_path / TRIALS)
    (tmp_path / SETTINGS).write_text("no = toml = at all")
    with pytest.raises(RunError, match="cannot be read"):
        open_run(tmp_path, WANTED)


def test_settings_must_be_plain(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="a setting must be"):
        open_run(tmp_path / "run", {"space": object()})
    assert not (tmp_path / "run").exists()


def test_non_finite_numbers_are_null(tmp_path: Path) -> None:
    assert [jsonable(v) for v in (1.5, float("nan"), float("inf"))] == [1.5, None, None]
    with open_run(tmp_path, WANTED) as run, pytest.raises(ValueError):
        run.append(TRIALS, [{"n": float("nan")}])  # a record that JSON cannot hold is our mistake, not the user's
    assert not (tmp_path / TRIALS).exists() or not (tmp_path / TRIALS).read_bytes()


def test_a_task_that_fails_is_not_timed(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", {}) as run:
        with run.timed("short"):
            pass
        with pytest.raises(ValueError, match="no"), run.timed("failed"):
            raise ValueError("no")
        (record,) = run.read(TIMINGS)
    assert record["task"] == "short"
    assert record["seconds"] >= 0
