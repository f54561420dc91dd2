"""Work in other processes, an item at a time each; they end by themselves when the one that started them is gone.

Not `multiprocessing`: that runs the user's script again in every process, and its pools outlive a parent that is
killed.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any

from ..errors import InputError, SupernetError

Report = Callable[[int, int], None]  # (steps done, steps in all)
EVERY = 0.5  # seconds between two reports


def spread(
    work: Callable[[Any, Report], Any],
    items: Sequence[Any],
    workers: int,
    progress: Callable[[int, int, int], None] | None = None,
) -> list[Any]:
    """`work(item, report)` for each item; in this process if there is one worker.

    `work` is a function of a module, it calls `report` at every step. `progress` is called in this process, with the
    item's number, the steps done and the steps in all, at a modest rate. An item that fails ends all others.
    """
    if workers < 1:
        raise InputError(f"there must be a worker, got {workers}")
    watch = progress or (lambda *_: None)
    if min(workers, len(items)) < 2:
        return [work(item, _seldom(partial(watch, i))) for i, item in enumerate(items)]
    waiting, answers = deque(range(len(items))), [None] * len(items)
    hands: list[_Hand] = []
    try:
        for _ in range(min(workers, len(items))):
            hands.append(_Hand(work))
            hands[-1].take(waiting.popleft(), items)
        while busy := [hand for hand in hands if hand.item is not None]:
            ready = wait([hand.connection for hand in busy])
            for hand in (h for h in busy if h.connection in ready):
                kind, content = hand.hear()
                assert hand.item is not None
                if kind == "progress":
                    watch(hand.item, *content)
                else:
                    answers[hand.item] = content
                    hand.take(waiting.popleft() if waiting else None, items)
        return answers
    finally:
        for hand in hands:
            hand.end()


class _Hand:
    """One process, and the item that it works on."""

    def __init__(self, work: Callable[[Any, Report], Any]) -> None:
        mine, theirs = socket.socketpair()
        with mine, theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            alone = {**os.environ, "OMP_NUM_THREADS": "1"}
            self.process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=alone, process_group=0
            )
            self.connection = Connection(mine.detach())
        self.item: int | None = None
        self._send(work)

    def take(self, item: int | None, items: Sequence[Any]) -> None:
        """Begin with an item, or have nothing to do."""
        self.item = item
        if item is not None:
            self._send(items[item])

    def _send(self, content: Any) -> None:
        with suppress(BrokenPipeError):  # it has ended: `hear` will say so
            self.connection.send(content)

    def hear(self) -> tuple[str, Any]:
        """The next message; failures are raised here as there."""
        try:
            kind, content = self.connection.recv()
        except (EOFError, OSError):
            code = self.process.wait()
            raise SupernetError(
                f"a worker ended with code {code} before its work was done; out of memory? fewer workers need less"
            ) from None
        if kind == "input error":
            raise InputError(content)
        if kind == "error":
            raise SupernetError(content)
        return kind, content

    def end(self) -> None:
        """Stop the process at once: what it has written is whole."""
        self.connection.close()
        self.process.kill()
        self.process.wait()


def _seldom(report: Callable[..., None]) -> Report:
    """A report that is passed on at a modest rate, and at the end."""
    last = 0.0

    def passed_on(done: int, steps: int) -> None:
        nonlocal last
        now = monotonic()
        if done == steps or now - last >= EVERY:
            last = now
            report(done, steps)

    return passed_on


def serve(connection: Connection) -> None:
    """What a worker does: receive items, send reports and answers, and stop when its parent is no more."""
    parent = os.getppid()

    def alive(done: int, steps: int) -> None:
        if os.getppid() != parent:
            os._exit(1)
        report(done, steps)

    report = _seldom(lambda *at: connection.send(("progress", at)))
    work = connection.recv()
    while True:
        item = connection.recv()
        try:
            answer = "done", work(item, alive)
        except InputError as error:
            answer = "input error", str(error)
        except SupernetError as error:
            answer = "error", str(error)
        except Exception as error:
            place = error.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = f"{os.path.basename(place.tb_frame.f_code.co_filename)} line {place.tb_lineno}: " if place else ""
            answer = "error", f"{where}{type(error).__name__}: {error}"
        connection.send(answer)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent ends its workers
    try:
        serve(Connection(int(sys.argv[1])))
    except (EOFError, OSError):
        sys.exit(0)  # the parent closed the line
