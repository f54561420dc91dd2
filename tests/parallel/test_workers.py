from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from supernetic.errors import InputError, SupernetError, UnknownNameError
from supernetic.parallel.workers import kept_workers, map_in_workers, usual_workers

JOBS = """
import os, time
from supernetic.errors import UnknownNameError

def square(item, report):
    for step in range(3):
        report(step + 1, 3)
    return item ** 2, os.getpid()

def fussy(item, report):
    if item == 1:
        raise UnknownNameError("item", "one", ["two"])
    time.sleep(30)

def broken(item, report):
    return 1 / item

def visible(item, report):
    time.sleep(0.3)
    return os.environ.get("CUDA_VISIBLE_DEVICES"), os.getpid()

def gone(item, report):
    if isinstance(item, int):
        os.kill(os.getpid(), item)
    os._exit(7)

def endless(item, report):
    with open(item, "w") as file:
        file.write(str(os.getpid()))
    while True:
        report(1, 2)
        time.sleep(0.05)
"""


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that workers can import as well."""
    (tmp_path / "jobs_of_a_test.py").write_text(JOBS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # for the processes that tests start themselves
    sys.modules.pop("jobs_of_a_test", None)
    import jobs_of_a_test  # type: ignore[import-not-found]

    return jobs_of_a_test


def test_answers_come_in_order_from_several_processes(jobs: Any) -> None:
    seen = []
    answers = map_in_workers(jobs.square, range(5), 2, lambda *at: seen.append(at))
    assert [a for a, _ in answers] == [0, 1, 4, 9, 16]
    assert len({pid for _, pid in answers}) == 2
    assert os.getpid() not in {pid for _, pid in answers}
    assert {(i, 3, 3) for i in range(5)} <= set(seen)


def test_one_worker_is_this_process(jobs: Any) -> None:
    seen = []
    answers = map_in_workers(jobs.square, [3, 4], 1, lambda *at: seen.append(at))
    assert answers == [(9, os.getpid()), (16, os.getpid())]
    assert seen == [(0, 1, 3), (0, 3, 3), (1, 1, 3), (1, 3, 3)]
    assert map_in_workers(jobs.square, [3], 4) == [(9, os.getpid())]
    assert map_in_workers(jobs.square, [], 4) == []
    with pytest.raises(InputError, match="got 0"):
        map_in_workers(jobs.square, [1], 0)


def test_kept_workers_are_used_again_and_end_with_the_block(jobs: Any) -> None:
    with kept_workers():
        first = {pid for _, pid in map_in_workers(jobs.square, range(4), 2)}
        with kept_workers():  # an inner block changes nothing
            assert {pid for _, pid in map_in_workers(jobs.square, range(4), 2)} == first
        assert len({pid for _, pid in map_in_workers(jobs.square, range(6), 3)} & first) == 2
        victim = first.pop()
        os.kill(victim, signal.SIGKILL)
        sleep(0.2)
        again = {pid for _, pid in map_in_workers(jobs.square, range(6), 3)}
        assert victim not in again
        with pytest.raises(SupernetError, match="ZeroDivisionError"):
            map_in_workers(jobs.broken, [0, 1], 2)
        assert len(map_in_workers(jobs.square, range(4), 2)) == 4  # after a failure with fresh ones
        last = {pid for _, pid in map_in_workers(jobs.square, range(4), 2)}
    assert not any(Path(f"/proc/{pid}").exists() for pid in again | last)
    assert {pid for _, pid in map_in_workers(jobs.square, range(4), 2)}.isdisjoint(last)


def test_each_worker_has_variables_of_its_own_and_is_kept_for_them(jobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpus = [{"CUDA_VISIBLE_DEVICES": "4"}, {"CUDA_VISIBLE_DEVICES": "6"}]
    with kept_workers():
        first = set(map_in_workers(jobs.visible, range(6), 2, environments=gpus))
        assert {gpu for gpu, _ in first} == {"4", "6"}
        assert {gpu for gpu, _ in map_in_workers(jobs.visible, range(4), 2)} == {None}  # those of before do not serve
        assert set(map_in_workers(jobs.visible, range(6), 2, environments=gpus[::-1])) == first


def test_there_are_as_many_workers_as_processors_where_processes_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert usual_workers() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usual_workers() == 1
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    monkeypatch.setattr(os, "name", "nt")
    assert usual_workers() == 1


def test_failures_are_passed_on_and_end_the_others(jobs: Any) -> None:
    began = monotonic()
    with pytest.raises(InputError, match="unknown item 'one'"):
        map_in_workers(jobs.fussy, [0, 1], 2)
    assert monotonic() - began < 25
    with pytest.raises(SupernetError, match=r"jobs_of_a_test.py line \d+: ZeroDivisionError") as caught:
        map_in_workers(jobs.broken, [0, 1], 2)
    assert not isinstance(caught.value, InputError)
    with pytest.raises(SupernetError, match="a worker ended with exit code 7 before its work was done"):
        map_in_workers(jobs.gone, ["a", "b"], 2)
    with pytest.raises(UnknownNameError):
        map_in_workers(jobs.fussy, [1], 1)


@pytest.mark.parametrize(
    ("killer", "advice"),
    [(signal.SIGKILL, "memory"), (signal.SIGSEGV, "a fault in compiled code"), (signal.SIGTERM, "another program")],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_worker_that_is_ended_is_named_with_its_signal(jobs: Any, killer: signal.Signals, advice: str) -> None:
    with pytest.raises(
        SupernetError, match=rf"a worker was ended by signal {int(killer)} \({killer.name}\); .*{advice}"
    ):
        map_in_workers(jobs.gone, [int(killer)] * 2, 2)


@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_workers_stop_when_their_parent_is_ended(jobs: Any, tmp_path: Path, ended_by: signal.Signals) -> None:
    files = [str(tmp_path / "a.pid"), str(tmp_path / "b.pid")]
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # nohup ignores it
        f"import jobs_of_a_test as j, supernetic.parallel.workers as w; w.map_in_workers(j.endless, {files}, 2)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stderr=subprocess.PIPE, text=True)
    until = monotonic() + 60
    while not all(Path(f).exists() and Path(f).read_text() for f in files):
        assert monotonic() < until
        sleep(0.1)
    pids = [int(Path(f).read_text()) for f in files]
    if ended_by == signal.SIGINT:
        os.killpg(parent.pid, ended_by)  # as a terminal does it: to all processes
    else:
        parent.send_signal(ended_by)
    complaint = parent.communicate(timeout=60)[1]
    assert complaint.count("Traceback") == (ended_by == signal.SIGINT)  # the parent's own, none of the workers'
    while any(_alive(pid) for pid in pids):
        assert monotonic() < until + 30
        sleep(0.1)


def test_a_script_needs_no_guard_and_may_define_what_it_sends(tmp_path: Path, jobs: Any) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from dataclasses import dataclass\n"
        "import jobs_of_a_test as j\n"
        "from supernetic.parallel.workers import map_in_workers\n"
        "@dataclass\n"
        "class Piece:\n"
        "    number: int\n"
        "def work(piece, report):\n"
        "    return Piece(j.square(piece.number, report)[0])\n"
        "print(map_in_workers(work, [Piece(2), Piece(3)], 2) == [Piece(4), Piece(9)])\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def _alive(pid: int) -> bool:
    """Whether the process still runs; one that nobody waits for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
