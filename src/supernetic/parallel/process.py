"""One worker process, as its parent sees it.

Not `multiprocessing`: that runs the user's script again in every process, and its pools outlive a parent that is
killed. Functions and classes of a script or a notebook can be sent, because cloudpickle sends them by value.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from ..errors import InputError
from .failure import Failure, lost

PATIENCE = 10.0  # seconds for a process to end after it has closed its connection


def can_start() -> bool:
    """Whether this system lets a process pass open descriptors on to others; Windows does not."""
    return os.name != "nt"


class WorkerProcess:
    """A process that does `work(item, send)` for one item after another.

    What the work passes to `send` arrives as messages. The process ends when its parent does.
    """

    def __init__(
        self,
        work: Callable[..., Any],
        name: str,
        environment: Mapping[str, str],
        keep_open: Sequence[int] = (),  # file descriptors that the process gets, under the same numbers
    ) -> None:
        if not can_start():
            raise InputError("several processes need Linux or macOS: use one worker and one process on Windows")
        mine, theirs = socket.socketpair()
        with mine, theirs:
            command = [sys.executable, "-P", "-m", f"{__package__}.child", str(theirs.fileno())]
            places = os.pathsep.join(place or os.getcwd() for place in sys.path)  # so that it finds the same modules
            self.process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno(), *keep_open],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": places, **environment},
                process_group=0,
            )
            self.connection = Connection(mine.detach())
        self.name = name
        self.send(work)

    def send(self, content: Any) -> None:
        """Send the work, or an item of it."""
        data = cloudpickle.dumps(content)
        with suppress(BrokenPipeError, ConnectionResetError):  # it has ended: `receive` will say so
            self.connection.send_bytes(data)

    def receive(self) -> tuple[str, Any]:
        """`message` and its content, `done` and the answer, or `failed` and why."""
        try:
            kind, content = cloudpickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            return "failed", self._lost()
        return kind, content

    def _lost(self) -> Failure:
        """Why nothing more will come."""
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # it closed its connection, and hangs
            self.process.kill()
            code = self.process.wait()
        return lost(self.name, code)

    def end(self) -> None:
        """End the process at once: what it has written is whole."""
        self.connection.close()
        self.process.kill()
        self.process.wait()
