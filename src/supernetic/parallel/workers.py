"""Independent pieces of work, spread over worker processes.

This is the one way in which jobs run pieces elsewhere. Another engine needs `work`, the items and where to report
progress, and gives answers in the order of the items.
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
REPORT_EVERY_SECONDS = 0.5


def usual_workers() -> int:
    """As many workers as there are processors; one, which is this process, where no others can be started."""
    return (os.cpu_count() or 1) if can_start() else 1


def map_in_workers(
    work: Callable[[Item, Report], Answer],
    items: Sequence[Item],
    workers: int,
    progress: Callable[[int, int, int], None] | None = None,
) -> list[Answer]:
    """`work(item, report)` for each item; in this process if there is one worker.

    `work` calls `report` at every step. `progress` is called in this process, with the item's number, the steps done
    and the steps in all, at a modest rate. A worker takes the next item when it is done with one, and computes with one
    thread. An item that fails ends all others.
    """
    if workers < 1:
        raise InputError(f"there must be a worker, got {workers}")
    watch = progress or (lambda *_: None)
    if min(workers, len(items)) < 2:
        return [work(item, _seldom(partial(watch, i))) for i, item in enumerate(items)]
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
            processes.append(WorkerProcess(partial(_piece, work), "a worker", {"OMP_NUM_THREADS": "1"}))
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


def _piece(work: Callable[[Item, Report], Answer], item: Item, send: Report) -> Answer:
    """One piece, in a worker."""
    return work(item, _seldom(send))


def _seldom(report: Callable[..., None]) -> Report:
    """A report that is passed on at a modest rate, and at the end."""
    last = 0.0

    def passed_on(done: int, steps: int) -> None:
        nonlocal last
        now = monotonic()
        if done == steps or now - last >= REPORT_EVERY_SECONDS:
            last = now
            report(done, steps)

    return passed_on
