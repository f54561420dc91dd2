from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
import pytest

from supernetic.errors import InputError
from supernetic.parallel import process
from supernetic.parallel.process import WorkerProcess

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test by its name


def double(item: int, send: Callable[..., None]) -> tuple[int, str]:
    send("half way", item)
    return 2 * item, os.environ["OF_A_TEST"]


def silent(item: object, send: Callable[..., None]) -> None:
    os.closerange(3, 100)  # the connection too; the process goes on
    import time

    time.sleep(600)


@pytest.fixture
def started() -> Iterator[Callable[[Callable[..., Any]], WorkerProcess]]:
    made: list[WorkerProcess] = []

    def start(work: Callable[..., Any]) -> WorkerProcess:
        made.append(WorkerProcess(work, "the worker", {"OF_A_TEST": "yes"}))
        return made[-1]

    yield start
    for one in made:
        one.end()


def test_items_are_answered_one_after_another(started: Callable[..., WorkerProcess]) -> None:
    worker = started(double)
    for item in (2, 5):
        worker.send(item)
        assert worker.receive() == ("message", ("half way", item))
        assert worker.receive() == ("done", (2 * item, "yes"))


def test_what_cannot_be_sent_back_is_a_failure_and_not_the_end(started: Callable[..., WorkerProcess]) -> None:
    worker = started(lambda item, send: (n for n in range(3)) if item else "well")
    worker.send(1)
    kind, failure = worker.receive()
    assert kind == "failed"
    assert "TypeError" in failure.message
    worker.send(0)
    assert worker.receive() == ("done", "well")


def test_a_process_that_hangs_without_its_connection_is_ended(
    started: Callable[..., WorkerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "END_TIMEOUT_S", 0.5)
    worker = started(silent)
    worker.send(None)
    kind, failure = worker.receive()
    assert kind == "failed"
    assert failure.message.startswith("the worker was ended by signal 9")
    assert worker.process.poll() is not None


def test_ending_twice_is_no_error(started: Callable[..., WorkerProcess]) -> None:
    worker = started(double)
    worker.end()
    worker.end()
    assert worker.process.returncode == -9


def test_windows_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def popen(*_: Any, **__: Any) -> None:
        raise AssertionError("nothing must be started")

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(os, "name", "nt")
    with pytest.raises(InputError, match="several processes need Linux or macOS"):
        WorkerProcess(double, "the worker", {})
