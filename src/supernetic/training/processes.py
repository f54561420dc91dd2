"""Processes on one machine that work together: started, watched and ended by the one that asks for them.

If one fails, the others are ended and its error is raised where they were asked for. They do not outlive that process.
"""

from __future__ import annotations

import os
import signal
import socket
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, reduction
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from ..errors import SupernetError

PATIENCE = 10.0  # seconds for the others to end by themselves, once one has failed or the first is done

T = TypeVar("T")


def together(work: Callable[..., Iterator[T]], processes: int, *arguments: Any) -> Iterator[T]:
    """Run `work(*arguments)` in so many processes, and yield what the first of them yields.

    `work` is a function of a module; torch.distributed and accelerate find in the environment which process they are
    in. A script that asks for this needs `if __name__ == "__main__":`.
    """
    context, port = get_context("spawn"), _free_port()
    ranks: list[_Rank] = []
    try:
        for number in range(processes):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(work, arguments, number, processes, port, theirs), daemon=True)
            process.start()
            theirs.close()
            ranks.append(_Rank(f"process {number + 1} of {processes}", process, ours))
        yield from _watched(ranks)
    finally:
        for rank in ranks:
            rank.process.kill()
            rank.process.join()
            rank.pipe.close()


class Shared:
    """An open file, as an argument: a lock on it is held while any of the processes lives."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self.descriptor),)


def _received(sent: Any) -> Shared:
    return Shared(sent.detach())


# --- where they are asked for -----------------------------------------------------------------------------------------


class _Failure(NamedTuple):
    """Why a process ended; the least is the cause, others mostly find that somebody is gone."""

    order: int  # 0: an error of ours, 1: ended without a word, 2: any other exception
    at: float  # seconds, on the clock that all processes share
    kind: type[SupernetError]
    message: str
    note: str = ""

    def error(self) -> SupernetError:
        """The error itself, as it was raised."""
        made = self.kind.__new__(self.kind, self.message)  # some kinds make their message when they are initialised
        if self.note:
            made.add_note(self.note)
        return made


@dataclass
class _Rank:
    name: str
    process: BaseProcess
    pipe: Connection
    failed: bool = False

    def lost(self) -> _Failure | None:
        """Why nothing more will come, unless it has said so or all is well."""
        self.process.join(PATIENCE)
        code = self.process.exitcode
        if self.failed or not code:
            return None
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return _Failure(1, monotonic(), SupernetError, f"{self.name} {how}")


def _watched(ranks: list[_Rank]) -> Iterator[Any]:
    """What the first process sends, until all have ended; the cause, if any has failed."""
    failures: list[_Failure] = []
    living = {rank.pipe: rank for rank in ranks}
    deadline: float | None = None
    while living and (deadline is None or monotonic() < deadline):
        for pipe in wait(list(living), None if deadline is None else max(0.0, deadline - monotonic())):
            rank = living[pipe]  # type: ignore[index]
            try:
                item, failure = rank.pipe.recv()
            except EOFError:
                del living[rank.pipe]
                failure = rank.lost()
            else:
                rank.failed = failure is not None
                if not rank.failed:
                    yield item
            if failure is not None:
                failures.append(failure)
        if deadline is None and (failures or ranks[0].pipe not in living):
            deadline = monotonic() + PATIENCE
    if failures:
        raise min(failures, key=lambda f: (f.order, f.at)).error()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


# --- in the processes -------------------------------------------------------------------------------------------------


def _run(
    work: Callable[..., Iterator[Any]], arguments: tuple[Any, ...], rank: int, world: int, port: int, pipe: Connection
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asked is interrupted too, and ends this one
    Thread(target=_follow_parent, daemon=True).start()
    here = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "MASTER_PORT": port}
    os.environ.update({"MASTER_ADDR": "127.0.0.1"} | {k: str(v) for k, v in here.items()})
    try:
        for item in work(*arguments):
            if rank == 0:
                pipe.send((item, None))
        _leave_group()
    except BaseException as error:
        pipe.send((None, _failure(error, f"process {rank + 1} of {world}")))
        os._exit(1)  # tidying up could wait for the others


def _failure(error: BaseException, name: str) -> _Failure:
    if isinstance(error, SupernetError):
        return _Failure(0, monotonic(), type(error), str(error))
    message = f"{name} failed: {type(error).__name__}: {error}"
    return _Failure(2, monotonic(), SupernetError, message, "".join(traceback.format_exception(error)))


def _leave_group() -> None:
    from torch import distributed

    if distributed.is_initialized():
        distributed.destroy_process_group()


def _follow_parent() -> None:
    """End with the process that asked, however it ends."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
