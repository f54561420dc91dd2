"""Independent items of work: in this process, in worker processes, or on a cluster.

All jobs run work elsewhere through `map_in_workers`. Within `cluster.cluster`, a Dask cluster does it; else processes
of this machine do, or this process itself. Answers are always in the order of the items.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from multiprocessing.connection import wait
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import InputError
from .process import WorkerProcess, can_start

if TYPE_CHECKING:
    from .cluster import Cluster

Report = Callable[[int, int], None]  # (steps done, steps in all)
Item = TypeVar("Item")
Answer = TypeVar("Answer")
REPORT_INTERVAL_S = 0.5
LOADERS_VARIABLE = "SUPERNETIC_LOADERS"  # processes that read images for a process; `datasets.stream` obeys it
_cluster: ContextVar[Cluster | None] = ContextVar("cluster", default=None)  # None: this machine does the work
_idle: ContextVar[list[WorkerProcess] | None] = ContextVar("idle workers", default=None)  # None: none are kept


def usual_workers() -> int:
    """The default number of workers: one per processor, or one (this process) where no other can be started."""
    return (os.cpu_count() or 1) if can_start() else 1


@contextmanager
def install_cluster(cluster: Cluster) -> Iterator[None]:
    """Within, a cluster does the work; `cluster.cluster` is what users call."""
    token = _cluster.set(cluster)
    try:
        yield
    finally:
        _cluster.reset(token)


def current_cluster() -> Cluster | None:
    """The cluster that does the work, if there is one."""
    return _cluster.get()


def on_cluster() -> bool:
    """Whether a cluster does the work."""
    return _cluster.get() is not None


def cluster_size() -> int | None:
    """Workers of the cluster at the moment; None without one."""
    cluster = _cluster.get()
    return None if cluster is None else cluster.size


@contextmanager
def kept_workers() -> Iterator[None]:
    """Keep worker processes from one `map_in_workers` to the next: starting one and loading data takes seconds."""
    if _idle.get() is not None:  # somebody further out keeps them
        yield
        return
    idle: list[WorkerProcess] = []
    token = _idle.set(idle)
    try:
        yield
    finally:
        _idle.reset(token)
        for process in idle:
            process.end()


def map_in_workers(
    work: Callable[[Item, Report], Answer],
    items: Sequence[Item],
    workers: int,
    progress: Callable[[int, int, int], None] | None = None,
    environments: Sequence[Mapping[str, str]] = ({},),
    *,
    given_up: Callable[[int, str], Answer] | None = None,
    arrived: Callable[[int, Any], Answer] | None = None,
) -> list[Answer]:
    """Call `work(item, report)` for each item, in worker processes, or in this process if there is one worker.

    A worker takes the next item when it has finished one, and computes with one thread. If an item fails, all work ends
    and its error is raised. Within `kept_workers`, workers of an earlier call are used again.

    On a cluster, all of its workers are used, whatever their number, and their answers must be plain data. An item
    whose worker is lost is done again by another.

    Args:
        work: The function. It calls `report(steps done, steps in all)` at every step.
        items: What it is called with.
        workers: How many processes.
        progress: Called in this process with an item's number, its steps done and its steps in all, at most every
            half second per item, and at its end.
        environments: Variables that workers get, the first worker the first ones, and so on in turns. Those of a
            cluster have their own.
        given_up: On a cluster, what stands for an item that ended every worker that tried it, from its number and the
            reason; by default that is an error, once the others are done.
        arrived: On a cluster, called with the number of an item and what its worker sent, as soon as that is here; it
            returns the answer.

    Returns:
        The answers, in the order of the items.
    """
    if workers < 1:
        raise InputError(f"workers must be at least 1, got {workers}")
    if (cluster := _cluster.get()) is not None:
        return cluster.map(work, items, progress, given_up, arrived)
    watch = progress or (lambda *_: None)
    if min(workers, len(items)) < 2:
        return [work(item, at_intervals(partial(watch, i))) for i, item in enumerate(items)]
    waiting = deque(enumerate(items))
    answers: dict[int, Answer] = {}
    processes: list[WorkerProcess] = []
    busy: dict[Any, tuple[WorkerProcess, int]] = {}  # by connection: the process and the number of its item

    def assign(process: WorkerProcess) -> None:
        if waiting:
            number, item = waiting.popleft()
            busy[process.connection] = process, number
            process.send((work, item))

    kept = _idle.get()
    try:
        for number in range(min(workers, len(items))):
            processes.append(_worker(kept, environments[number % len(environments)]))
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
        if kept is not None:
            kept += processes
            processes = []
        return [answers[number] for number in range(len(items))]
    finally:
        for process in processes:
            process.end()


def _worker(kept: list[WorkerProcess] | None, variables: Mapping[str, str]) -> WorkerProcess:
    """One that was kept with the same variables and still lives, or a new one."""
    loaders = os.environ.get(LOADERS_VARIABLE) or "1"  # one for each: there are as many workers as processors
    environment = {"OMP_NUM_THREADS": "1", LOADERS_VARIABLE: loaders, **variables}
    for process in [p for p in kept or () if p.environment == environment][::-1]:
        assert kept is not None
        kept.remove(process)
        if process.process.poll() is None:
            return process
        process.end()
    return WorkerProcess(_work_on, "a worker", environment)


def _work_on(task: tuple[Callable[[Item, Report], Answer], Item], send: Report) -> Answer:
    """One item, in a worker."""
    work, item = task
    return work(item, at_intervals(send))


def at_intervals(report: Callable[..., None], seconds: float = REPORT_INTERVAL_S) -> Report:
    """A report that is passed on now and then, and at the end."""
    last = 0.0

    def passed_on(done: int, steps: int) -> None:
        nonlocal last
        now = monotonic()
        if done == steps or now - last >= seconds:
            last = now
            report(done, steps)

    return passed_on
