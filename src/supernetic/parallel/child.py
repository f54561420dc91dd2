"""The program of a worker process: it receives the work and then items, and sends messages and answers.

Started as `python -m supernetic.parallel.child SOCKET` by `process.WorkerProcess`, and by nobody else: what comes
through the socket is trusted, because the parent wrote it.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import cloudpickle

from ..capacity import memory_in_use
from ..errors import InputError, SupernetError, memory_words
from .failure import Cause, Failure

PARENT_CHECK_INTERVAL_S = 0.2  # between two looks at whether the parent is still there


def serve(connection: Connection) -> None:
    """Work on items until the parent closes the connection.

    Args:
        connection: The first message is the work, a function; every further one is an item of it.
    """

    def send(kind: str, content: Any) -> None:
        connection.send_bytes(cloudpickle.dumps((kind, content)))

    work: Callable[..., Any] | None = None
    while True:
        received = connection.recv_bytes()
        try:
            content = pickle.loads(received)
            if work is None:
                work = content
                continue
            answer = cloudpickle.dumps(("done", work(content, lambda *message: send("message", message))))
        except BaseException as error:
            send("failed", failure_of(error))
        else:
            connection.send_bytes(answer)


def failure_of(error: BaseException) -> Failure:
    """An error in a form that can be sent: our own as they are, others with the line that raised them."""
    if isinstance(error, SupernetError):
        return Failure(Cause.OURS, monotonic(), type(error), str(error))
    if words := memory_words(error, memory_in_use()):
        return Failure(Cause.OURS, monotonic(), InputError, words)
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name} line {frames[-1].lineno}: " if frames else ""
    note = "".join(traceback.format_exception(error))
    message = f"{where}{type(error).__name__}: {error}"
    return Failure(Cause.UNEXPECTED, monotonic(), SupernetError, message, note)


def end_with_parent() -> None:
    """End this process soon after its parent has ended, however that happened."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            sleep(PARENT_CHECK_INTERVAL_S)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    end_with_parent()
    try:
        serve(Connection(int(sys.argv[1])))
    except (EOFError, OSError):
        os._exit(0)  # the parent closed the connection: it wants no more
