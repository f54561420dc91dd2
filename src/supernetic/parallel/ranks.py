"""Processes that train together: each has a rank, and the first one reports.

If one fails, the others are ended and its error is raised in the process that launched them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from time import monotonic
from typing import Any, TypeVar

from .failure import Cause, Failure
from .process import WorkerProcess
from .world import together

END_TIMEOUT_S = 10.0  # for the others to end by themselves, once one has failed or the first is done

T = TypeVar("T")


def launch_ranks(
    work: Callable[..., Iterator[T]], processes: int, *arguments: Any, keep_open: Sequence[int] = ()
) -> Iterator[T]:
    """Run the same generator in several processes: those of a launcher such as `torchrun`, else new ones here.

    torch.distributed and accelerate find the rank of their process in its environment.

    Args:
        work: The generator function.
        processes: How many processes run it.
        *arguments: Its arguments.
        keep_open: File descriptors that all processes get: locks on them are held while any of the processes lives.

    Yields:
        What the first process yields.
    """
    if (ours := together(work, processes, arguments)) is not None:
        yield from ours
        return
    port, started = _free_port(), []
    try:
        for rank in range(processes):
            name = f"process {rank + 1} of {processes}"
            started.append(WorkerProcess(_follow, name, _environment(rank, processes, port), keep_open))
            started[-1].send((work, arguments))
        yield from _watched(started)
    finally:
        for process in started:
            process.end()


def _environment(rank: int, world: int, port: int) -> dict[str, str]:
    variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "MASTER_PORT": port}
    quiet = {
        "TORCH_CPP_LOG_LEVEL": os.environ.get("TORCH_CPP_LOG_LEVEL", "ERROR")
    }  # else each warns if no weight is idle
    return {"MASTER_ADDR": "127.0.0.1", **quiet} | {name: str(value) for name, value in variables.items()}


def _watched(started: list[WorkerProcess]) -> Iterator[Any]:
    """What the first process sends, until all are done; raises the cause if one has failed."""
    failures: list[Failure] = []
    living = {process.connection: process for process in started}
    deadline: float | None = None
    while living and (deadline is None or monotonic() < deadline):
        for connection in wait(list(living), None if deadline is None else max(0.0, deadline - monotonic())):
            process = living[connection]  # type: ignore[index]
            kind, content = process.receive()
            if kind == "message":
                yield content[0]
                continue
            del living[process.connection]
            if kind == "failed":
                failures.append(_named(content, process.name))
                process.end()  # others may wait for it, and so notice that it is gone
        if deadline is None and (failures or started[0].connection not in living):
            deadline = monotonic() + END_TIMEOUT_S
    if failures:
        raise min(failures, key=lambda failure: (failure.cause, failure.at)).error()


def _named(failure: Failure, name: str) -> Failure:
    unexpected = failure.cause == Cause.UNEXPECTED
    return failure._replace(message=f"{name} failed: {failure.message}") if unexpected else failure


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _follow(item: tuple[Callable[..., Iterator[Any]], tuple[Any, ...]], send: Callable[..., None]) -> None:
    """The work of each process: the first one sends what its generator yields."""
    work, arguments = item
    for value in work(*arguments):
        if os.environ["RANK"] == "0":
            send(value)
    _leave_group()


def _leave_group() -> None:
    from torch import distributed

    if distributed.is_initialized():
        distributed.destroy_process_group()
