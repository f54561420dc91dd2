"""Independent items of work, spread over worker processes.

All jobs run work in other processes through `map_in_workers`. Another engine would need the same arguments, and would
return the answers in the order of the items.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import wait
from time import monotonic
from typing import Any, TypeVar

from ..errors import InputError
from .process import WorkerProcess, can_start

Report = Callable[[int, int], None]  # (steps done, steps in all)
Item = TypeVar("Item")
Answer = TypeVar("Answer")
REPORT_INTERVAL_S = 0.5


def usual_workers() -> int:
    """The default number of workers: one per processor, or one (this process) where no other can be started."""
    return (os.cpu_count() or 1) if can_start() else 1


def map_in_workers(
    work: Callable[[Item, Report], Answer],
    items: Sequence[Item],
    workers: int,
    progress: Callable[[int, int, int], None] | None = None,
) -> list[Answer]:
    """Call `work(item, report)` for each item, in worker processes, or in this process if there is one worker.

    A worker takes the next item when it has finished one, and computes with one thread. If an item fails, all work ends
    and its error is raised.

    Args:
        work: The function. It calls `report(steps done, steps in all)` at every step.
        items: What it is called with.
        workers: How many processes.
        progress: Called in this process with an item's number, its steps done and its steps in all, at most every
            half second per item, and at its end.

    Returns:
        The answers, in the order of the items.
    """
    if workers < 1:
        raise InputError(f"workers must be at least 1, got {workers}")
    watch = progress or (lambda *_: None)
    if min(workers, len(items)) < 2:
        return [work(item, _at_intervals(partial(watch, i))) for i, item in enumerate(items)]
    waiting = deque(enumerate(items))
    answers: dict[int, Answer] = {}
    processes: list[WorkerProcess] = []
    busy: dict[Any, tuple[WorkerProcess, int]] = {}  # by connection: the process and the number of its item

    def assign(process: WorkerProcess) -> None:
        if waiting:
            number, item = waiting.popleft()
            busy[process.connection] = process, number
            process.send(item)

    try:
        for _ in range(min(workers, len(items))):
            processes.append(WorkerProcess(partial(_work_on, work), "a worker", {"OMP_NUM_THREADS": "1"}))
            assign(processes[-1])
        while busy:
            for connection in wait(list(busy)):
                process, number = busy[connection]
                kind, content = process.receive()
                if kind == "message":
                    watch(number, *content)
                elif kind == "failed":
                    raise content.error()
                else:
                    del busy[connection]
                    answers[number] = content
                    assign(process)
        return [answers[number] for number in range(len(items))]
    finally:
        for process in processes:
            process.end()


def _work_on(work: Callable[[Item, Report], Answer], item: Item, send: Report) -> Answer:
    """One item, in a worker."""
    return work(item, _at_intervals(send))


def _at_intervals(report: Callable[..., None]) -> Report:
    """A report that is passed on twice a second at most, and at the end."""
    last = 0.0

    def passed_on(done: int, steps: int) -> None:
        nonlocal last
        now = monotonic()
        if done == steps or now - last >= REPORT_INTERVAL_S:
            last = now
            report(done, steps)

    return passed_on
