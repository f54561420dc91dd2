"""What a worker of a Dask cluster does with a piece of work.

The work is done by a child process (`process.WorkerProcess`), which is kept for the next piece. A piece that ends its
process, or hangs, so ends neither the worker nor what else it does, and the reason is known. The worker answers with
plain data: the answer as bytes, or a failure as texts.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep
from typing import Any

from .. import errors
from .child import failure_of
from .failure import Cause, Failure
from .plain import encode
from .process import WorkerProcess
from .workers import LOADERS_VARIABLE, Report, at_intervals

SHARED_VARIABLE = "SUPERNETIC_SHARED"  # the folder with files that were sent to this worker once
SHARED_PATIENCE_S = 120.0  # for such a file to arrive
LOOK_INTERVAL_S = 0.5  # between two looks at whether the piece is still wanted
REPORT_INTERVAL_S = 2.0  # between two reports of a piece: the scheduler passes on those of all workers
WITHDRAWN = "withdrawn"
_own = threading.local()  # the child process of each thread of a worker


def do_piece(
    work: bytes, item: bytes, number: int, attempt: int, topic: str, patience: float, in_child: bool = True
) -> dict[str, Any]:
    """Do one piece; runs in a thread of a Dask worker.

    Args:
        work: The function, pickled.
        item: What it is called with, pickled.
        number: Of the piece.
        attempt: Which try this is.
        topic: Where progress is reported.
        patience: Seconds without a sign of life after which the child counts as hanging.
        in_child: Whether a child process does it; else this thread, which suits pieces that compute nothing.

    Returns:
        `answer`, as bytes; or `failure`, a table of texts. Both with the `worker`'s address.
    """
    from distributed import get_worker

    worker: Any = get_worker()

    def report(done: int, steps: int) -> None:
        worker.log_event(topic, [number, attempt, done, steps, worker.address])

    report(0, 0)
    if not in_child:
        answer = encode(pickle.loads(work)(pickle.loads(item), report))
        return {"answer": answer, "worker": worker.address}
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing"

    outcome = _in_child(work, item, report, wanted, patience, shared_folder(worker))
    if isinstance(outcome, Failure):
        failure = [int(outcome.cause), outcome.kind.__name__, outcome.message, outcome.note]
        return {"failure": failure, "worker": worker.address}
    return {"answer": outcome, "worker": worker.address}


def failure_from(record: list[Any]) -> Failure:
    """The failure that a worker sent as texts."""
    cause, kind, message, note = record
    found = getattr(errors, str(kind), errors.SupernetError)
    known = isinstance(found, type) and issubclass(found, errors.SupernetError)
    return Failure(Cause(cause), monotonic(), found if known else errors.SupernetError, str(message), str(note))


def _in_child(
    work: bytes, item: bytes, report: Report, wanted: Callable[[], bool], patience: float, shared: Path
) -> bytes | Failure:
    process = _child(shared)
    process.send((work, item))
    last = monotonic()
    while True:
        if process.connection.poll(LOOK_INTERVAL_S):
            kind, content = process.receive()
            last = monotonic()
            if kind == "message":
                report(*content)
                continue
            if kind == "failed" and content.cause == Cause.ENDED:
                _forget(process)
            found: bytes | Failure = content
            return found
        if not wanted():
            _forget(process)
            return Failure(Cause.ENDED, monotonic(), errors.SupernetError, WITHDRAWN)
        if monotonic() - last > patience:
            _forget(process)
            message = f"gave no sign of life for {patience:g} s and was ended"
            return Failure(Cause.ENDED, monotonic(), errors.SupernetError, f"a worker process {message}")


def _child(shared: Path) -> WorkerProcess:
    """The child of this thread, if it still lives, or a new one."""
    process: WorkerProcess | None = getattr(_own, "process", None)
    if process is not None and process.process.poll() is None:
        return process
    loaders = os.environ.get(LOADERS_VARIABLE) or "1"
    environment = {"OMP_NUM_THREADS": "1", LOADERS_VARIABLE: loaders, SHARED_VARIABLE: str(shared)}
    _own.process = WorkerProcess(_work_on, "a worker process", environment)
    child: WorkerProcess = _own.process
    return child


def _forget(process: WorkerProcess) -> None:
    process.end()
    _own.process = None


def _work_on(piece: tuple[bytes, bytes], send: Report) -> bytes:
    """One piece, in the child."""
    work, item = piece
    try:
        return encode(_unpickled(work)(pickle.loads(item), at_intervals(send, REPORT_INTERVAL_S)))
    except MemoryError as error:  # another worker may have more
        raise errors.SupernetError(failure_of(error).message) from error


@lru_cache(maxsize=2)
def _unpickled(work: bytes) -> Any:
    return pickle.loads(work)


# --- files that are sent to a worker once -----------------------------------------------------------------------------


def shared_folder(worker: Any) -> Path:
    """Where a Dask worker keeps such files; it goes with the worker."""
    return Path(worker.local_directory) / "supernetic-shared"


def digest_of(data: bytes) -> str:
    """The name of such a file."""
    return hashlib.sha256(data).hexdigest()


def keep_shared(folder: Path, digest: str, data: bytes) -> None:
    """Put such a file in place, unless it is there."""
    if not (folder / digest).exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = folder / f".{digest}.{token_hex(8)}"
        temporary.write_bytes(data)
        temporary.replace(folder / digest)


def read_shared(digest: str) -> bytes:
    """The content of a file that the job sent to this worker; called in the child process."""
    path, until = Path(os.environ[SHARED_VARIABLE]) / digest, monotonic() + SHARED_PATIENCE_S
    while not path.exists() and monotonic() < until:  # a worker that has just joined gets it at about the same time
        sleep(0.1)
    with suppress(OSError):
        data = path.read_bytes()
        if digest_of(data) == digest:
            return data
    raise errors.SupernetError(f"what the job shares did not arrive at this worker, or not whole: {digest[:16]}")
