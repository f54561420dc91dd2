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

END_TIMEOUT_S = 10.0  # for a process to end after it has closed its connection


def can_start() -> bool:
    """Whether this system lets a process pass open descriptors on to others; Windows does not."""
    return os.name != "nt"


class WorkerProcess:
    """A process that calls `work(item, send)` for one item after another, and ends when its parent does.

    Args:
        work: The function. What it passes to `send` arrives as messages.
        name: The name of the process in error messages.
        environment: Variables that it gets beside those of this process.
        keep_open: File descriptors that it gets under the same numbers.
    """

    def __init__(
        self,
        work: Callable[..., Any],
        name: str,
        environment: Mapping[str, str],
        keep_open: Sequence[int] = (),
    ) -> None:
        if not can_start():
            raise InputError("several processes need Linux or macOS: use one worker and one process on Windows")
        own_end, other_end = socket.socketpair()
        with own_end, other_end:
            command = [sys.executable, "-P", "-m", f"{__package__}.child", str(other_end.fileno())]
            folders = os.pathsep.join(folder or os.getcwd() for folder in sys.path)  # so that it finds the same modules
            self.process = subprocess.Popen(
                command,
                pass_fds=[other_end.fileno(), *keep_open],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": folders, **environment},
                process_group=0,
            )
            self.connection = Connection(own_end.detach())
        self.name, self.environment = name, dict(environment)
        self.send(work)

    def send(self, content: Any) -> None:
        """Send the work, or an item of it."""
        data = cloudpickle.dumps(content)
        with suppress(BrokenPipeError, ConnectionResetError):  # it has ended: `receive` will say so
            self.connection.send_bytes(data)

    def receive(self) -> tuple[str, Any]:
        """Wait for the process.

        Returns:
            `message` and its content, `done` and the answer, or `failed` and the `Failure`.
        """
        try:
            kind, content = cloudpickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            return "failed", self._lost()
        return kind, content

    def _lost(self) -> Failure:
        """Why the process has closed its connection."""
        try:
            code = self.process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:  # it closed its connection, and hangs
            self.process.kill()
            code = self.process.wait()
        return lost(self.name, code)

    def end(self) -> None:
        """End the process at once; files are written atomically, so none is left half-written."""
        self.connection.close()
        self.process.kill()
        self.process.wait()
