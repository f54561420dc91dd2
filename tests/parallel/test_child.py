from __future__ import annotations

import pickle
from multiprocessing import Pipe

import pytest

from supernetic.errors import DataError, SupernetError
from supernetic.parallel.child import failure_of, serve
from supernetic.parallel.failure import Cause


def test_errors_of_ours_keep_their_kind_and_others_their_line() -> None:
    assert failure_of(DataError("cat.png"))[0::2] == (Cause.OURS, DataError, "")
    try:
        int("x")
    except ValueError as error:
        failure = failure_of(error)
    assert failure.kind is SupernetError
    assert failure.cause == Cause.UNEXPECTED
    assert failure.message.startswith("test_child.py line ")
    assert "ValueError: invalid literal" in failure.message
    assert "Traceback" in failure.note


def test_it_serves_until_the_connection_is_closed() -> None:
    ours, theirs = Pipe()
    for content in (lambda_free, 3, 0):
        ours.send(content)
    ours.send_bytes(b"no pickle")
    done: list[tuple[str, object]] = []

    class Recorded:
        recv_bytes = staticmethod(lambda: theirs.recv_bytes() if theirs.poll() else _end())
        send_bytes = staticmethod(lambda data: done.append(pickle.loads(data)))

    with pytest.raises(EOFError):
        serve(Recorded())  # type: ignore[arg-type]
    kinds = [kind for kind, _ in done]
    assert kinds == ["message", "done", "message", "failed", "failed"]
    assert done[1] == ("done", 4.0)


def lambda_free(item: int, send: object) -> float:
    send(item)  # type: ignore[operator]
    return 12 / item


def _end() -> bytes:
    raise EOFError
