"""Processes that yield, fail, die, hang; and a parent that is killed."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from supernetic.errors import DataError, SupernetError, UnknownNameError
from supernetic.parallel import process
from supernetic.parallel import ranks as module
from supernetic.parallel.ranks import launch_ranks

# What the processes do is in a module of its own: they import it by name.
WORK = """
import os, signal, time
from pathlib import Path
from supernetic.errors import DataError, UnknownNameError

RANK = lambda: int(os.environ["RANK"])

def until(file):
    while not file.exists():
        time.sleep(0.05)

def count(n):
    for i in range(n):
        yield i, RANK(), int(os.environ["WORLD_SIZE"])

def fail(kind, rank):
    yield "begun"
    if RANK() == rank:
        if kind == "data":
            raise DataError("cat.png: not an image")
        if kind == "name":
            raise UnknownNameError("space", "macr", ["macro"])
        if kind == "bug":
            raise KeyError("lost")
        if kind == "exit":
            os._exit(3)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)  # as if it waited for the others

def consequence(late):
    yield "begun"
    if RANK() == 0:
        time.sleep(late)
        raise RuntimeError("connection closed by peer")
    raise DataError("the cause")

def hold(place, late=False):
    # With "late", the first one ends only when it is released.
    if late and RANK() == 0:
        end = os._exit
        os._exit = lambda code: until(Path(place) / "release") or end(code)
    (Path(place) / str(RANK())).write_text(str(os.getpid()))
    yield "held"
    time.sleep(600)
"""
PARENT = """
import fcntl, os, sys
sys.path.insert(0, sys.argv[1])
import work
from supernetic.parallel.ranks import launch_ranks
lock = os.open(sys.argv[1] + "/lock", os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
for item in launch_ranks(work.hold, 2, sys.argv[1], True, keep_open=[lock]):
    print(item, flush=True)
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "work.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(module, "END_TIMEOUT_S", 1.0)
    monkeypatch.setattr(process, "END_TIMEOUT_S", 1.0)
    yield
    sys.modules.pop("work", None)


def test_the_first_one_is_heard() -> None:
    import work  # type: ignore[import-not-found]

    assert list(launch_ranks(work.count, 2, 3)) == [(0, 0, 2), (1, 0, 2), (2, 0, 2)]


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("data", DataError, r"^cat\.png: not an image$"),
        ("name", UnknownNameError, "^unknown space 'macr': did you mean 'macro'"),
        ("bug", SupernetError, r"^process 2 of 2 failed: work\.py line \d+: KeyError: 'lost'"),
        ("exit", SupernetError, "^process 2 of 2 ended with exit code 3 before its work was done$"),
        ("kill", SupernetError, r"^process 2 of 2 was ended by signal 9 \(SIGKILL\); .*memory"),
    ],
)
def test_a_failure_ends_all_and_is_raised_as_it_was(kind: str, error: type[SupernetError], message: str) -> None:
    import work

    with pytest.raises(error, match=message) as caught:
        list(launch_ranks(work.fail, 2, kind, 1))
    assert type(caught.value) is error
    if kind == "bug":
        assert 'raise KeyError("lost")' in caught.value.__notes__[0]


@pytest.mark.parametrize("late", [0.0, 0.3])
def test_the_cause_is_told_not_its_consequences(late: float) -> None:
    import work

    with pytest.raises(DataError, match="the cause"):
        list(launch_ranks(work.consequence, 2, late))


def test_leaving_early_ends_them(tmp_path: Path) -> None:
    import work

    items = launch_ranks(work.hold, 2, str(tmp_path))
    assert next(items) == "held"
    items.close()  # type: ignore[attr-defined]
    assert all(not alive(tmp_path, rank) for rank in range(2))


def test_they_do_not_outlive_a_killed_parent_and_hold_its_lock_until_then(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "held\n"
    until(lambda: (tmp_path / "1").exists())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not alive(tmp_path, 1))
    assert locked(tmp_path)
    assert alive(tmp_path, 0)
    (tmp_path / "release").touch()
    until(lambda: not alive(tmp_path, 0))
    until(lambda: not locked(tmp_path))


def until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(place: Path, rank: int) -> bool:
    """Whether a process runs; one that has ended may not be collected by whoever inherited it."""
    try:
        text = Path(f"/proc/{(place / str(rank)).read_text()}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def locked(place: Path) -> bool:
    descriptor = os.open(place / "lock", os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
