"""What a power cut may lose: the order in which files, renames and directories reach the disk."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from supernetic.runs import durable
from supernetic.runs.directory import open_run, write_atomically

Log = list[tuple[str, str]]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """What is brought to disk and put in place, in order, by the last part of its name."""
    calls: Log = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        calls.append(("sync", Path(os.readlink(f"/proc/self/fd/{descriptor}")).name))
        fsync(descriptor)

    def replaced(old: Any, new: Any) -> None:
        calls.append(("replace", Path(new).name))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    return calls


def shown(calls: Log) -> list[str]:
    """Calls as words; names of temporary files are those of the files they become."""
    named = [
        (what, match[1] if (match := re.fullmatch(r"\.(.+?)\.[0-9a-f]{16}\.tmp", name)) else name)
        for what, name in calls
    ]
    return [f"{what} {name}" for what, name in named]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_file_then_name_then_directory(tmp_path: Path, log: Log) -> None:
    (tmp_path / "run").mkdir()
    durable.sync_directory(tmp_path / "run")
    durable.sync_appended()  # of tests before this one
    log.clear()
    write_atomically(tmp_path / "run" / "a.json", "{}")
    assert shown(log) == ["sync a.json", "replace a.json", "sync run"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_records_come_before_the_file_that_builds_on_them(tmp_path: Path, log: Log) -> None:
    with open_run(tmp_path / "run", {"seed": 0}) as run:
        run.append("trials.jsonl", [{"a": 1}])
        log.clear()
        run.append("trials.jsonl", [{"a": 2}])
        assert log == []  # frequent records do not wait for the disk
        run.write("search.json", "{}")
        calls = shown(log)
        assert calls.index("sync trials.jsonl") < calls.index("sync search.json") < calls.index("replace search.json")
        assert calls[-1] == "sync run"
        log.clear()
        run.append("decisions.jsonl", [{"a": 1}], sync=True)
        assert "sync decisions.jsonl" in shown(log)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_new_directory_is_on_disk_with_the_directories_above_it(tmp_path: Path, log: Log) -> None:
    place = tmp_path / "runs" / "mine"
    open_run(place, {"seed": 0}).close()
    calls = shown(log)
    assert calls.index("replace run.toml") < calls.index("sync mine") < calls.index("sync runs")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_pages_are_not_waited_for(tmp_path: Path, log: Log) -> None:
    write_atomically(tmp_path / "report.html", "x", sync=False)
    assert shown(log) == ["replace report.html"]


# --- the system calls of whole commands ----------------------------------------------------------------------------

CALL = re.compile(r"^(?:\d+\s+)?(\w+)\((.*)\)\s+= (-?\d+)", re.DOTALL)
FD = re.compile(r"^\d+<([^>]*)>")
NAMES = re.compile(r'"((?:[^"\\]|\\.)*)"')


def violations(trace: str, run: Path) -> list[str]:
    """Renames in a run before what they rely on was on disk, and directories that were never brought there."""
    dirty: set[str] = set()  # files and directories below the run that have changed since they were synced
    found = []
    for line in trace.splitlines():
        match = CALL.match(line)
        if match is None or match[3].startswith("-"):
            continue
        name, arguments = match[1], match[2]
        opened = FD.match(arguments)
        path = opened[1] if opened else ""
        if name in ("write", "pwrite64", "ftruncate") and path.startswith(str(run)):
            dirty.add(path)
        elif name in ("fsync", "fdatasync"):
            dirty.discard(path)
        elif name.startswith("rename"):
            old, new = (os.path.join(run, n) if not n.startswith("/") else n for n in NAMES.findall(arguments)[:2])
            if not new.startswith(str(run)) or new.endswith((".html", ".onnx")):
                dirty.discard(old)
                continue
            if old in dirty:
                found.append(f"{new} was put in place before its content was on disk")
            late = [d for d in dirty if d.endswith(".jsonl")]
            found += [f"{d} had lines that were not on disk when {new} was put in place" for d in late]
            dirty = {d for d in dirty if d != old} | {os.path.dirname(new)}
    found += [f"the entries of {d} were not on disk in the end" for d in sorted(dirty) if os.path.isdir(d)]
    return found


def traced(folder: Path, *command: str) -> str:
    """The system calls of a command about files."""
    calls = "trace=write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2"
    file = folder / "trace"
    strace = ["strace", "-f", "-y", "-s", "300", "-e", calls, "-o", str(file)]
    done = subprocess.run(
        [*strace, sys.executable, "-m", "supernetic.cli", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr[-2000:]
    return file.read_text(encoding="utf-8", errors="replace")


NEEDS_STRACE = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


@NEEDS_STRACE
def test_a_search_on_a_table_puts_files_in_place_in_order(tmp_path: Path) -> None:
    trace = traced(tmp_path, "search", "--table", "nasbench201", "--evaluations", "60", "--out", str(tmp_path / "run"))
    assert "rename" in trace
    assert violations(trace, tmp_path / "run") == []


@NEEDS_STRACE
@pytest.mark.slow
def test_a_whole_search_puts_files_in_place_in_order(tmp_path: Path) -> None:
    run = tmp_path / "run"
    trace = traced(
        tmp_path, "search", "--space", "macro:channels=4,resolution=8,head=16", "--steps", "4", "--network-steps", "2",
        "--population", "4", "--generations", "1", "--limit", "200", "--where", "macs<=60K", "--keep", "1",
        "--workers", "1", "--threads", "1", "-q", "--out", str(run),
    )  # fmt: skip
    assert trace.count("supernet.safetensors") > 0
    assert violations(trace, run) == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (['write(3</r/.a.tmp>, "x", 1) = 1', 'rename("/r/.a.tmp", "/r/a") = 0', "fsync(4</r>) = 0"], "its content"),
        (['write(3</r/t.jsonl>, "x", 1) = 1', 'rename("/r/.a.tmp", "/r/a") = 0', "fsync(4</r>) = 0"], "had lines"),
    ],
)
def test_a_wrong_order_would_be_noticed(lines: list[str], expected: str) -> None:
    (fault,) = violations("\n".join(lines), Path("/r"))
    assert expected in fault
