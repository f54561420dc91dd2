"""Reading in other processes, ahead of time, by torch's DataLoader.

`SUPERNETIC_LOADERS` says how many processes read; 0 reads in the process that asks. Where processes cannot be forked
(Windows, macOS) it is 0 by default, because those that are not forked would run the user's script again.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ..errors import InputError, SupernetError
from ..parallel.allocator import give_back_excess, keep_freed_memory
from ..parallel.child import end_with_parent
from ..parallel.workers import LOADERS_VARIABLE
from .dataset import Indices
from .stored import StoredImages

MOST_LOADERS = 16  # by default: more are faster than any disk
FETCHED_IMAGES = 64  # by a process at a time

Answer = TypeVar("Answer")


def loaders() -> int:
    """Processes that read images.

    Returns:
        `SUPERNETIC_LOADERS`; by default one for each processor, up to 16.
    """
    chosen = os.environ.get(LOADERS_VARIABLE, "")
    if chosen:
        if not chosen.isdecimal():
            raise InputError(f"{LOADERS_VARIABLE} must be a number of processes, got {chosen!r}")
        return int(chosen)
    if sys.platform != "linux":
        return 0
    return min(MOST_LOADERS, len(os.sched_getaffinity(0)))


def fetch_all(fetch: Callable[[Indices], Answer], parts: Iterable[Indices]) -> Iterator[Answer]:
    """Call `fetch(rows)` for each part, in other processes, ahead of time and in order.

    Torch's own generator stays as it is: a training that is resumed in the middle must draw the same numbers.

    Args:
        fetch: reads rows; tensors in its answer are passed through shared memory.
        parts: rows, as many parts as there are; a generator may have no end.

    Yields:
        The answers.
    """
    processes = loaders()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # more processes than processors are the user's wish
        loader: Any = DataLoader(
            _Fetched(fetch),
            batch_sampler=parts,  # type: ignore[arg-type]  # any iterable will do
            num_workers=processes,
            collate_fn=_as_it_is,
            worker_init_fn=_begin if processes else None,
            multiprocessing_context="fork" if processes and sys.platform == "linux" else None,
            generator=torch.Generator(),
        )
    try:
        yield from loader
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):
            raise
        reason = " ".join(str(error).split())[:200]
        without = f"{LOADERS_VARIABLE}=0 does without"
        raise SupernetError(f"a process that reads images has ended: {reason}; {without}") from None


def read_rows(images: StoredImages, rows: Indices) -> Tensor:
    """Some images, read in other processes if they are many.

    Args:
        images: stored images.
        rows: which.

    Returns:
        N x H x W x C bytes.
    """
    return as_tensor(images, rows) if len(rows) <= FETCHED_IMAGES else next(read_parts(images, [rows]))


def read_parts(images: StoredImages, parts: Iterable[Indices]) -> Iterator[Tensor]:
    """Parts of the images, in order, read in other processes ahead of time.

    A process reads a few images at a time, so that all of them work on the same part, and little waits to be taken.

    Args:
        images: stored images.
        parts: rows of each part.

    Yields:
        N x H x W x C bytes; a file that cannot be read raises in this process.
    """
    pieces: deque[int] = deque()  # in each part that is being read

    def in_pieces() -> Iterator[Indices]:
        for rows in parts:
            starts = range(0, len(rows), FETCHED_IMAGES)
            pieces.append(len(starts))
            yield from (rows[at : at + FETCHED_IMAGES] for at in starts)

    read: list[Tensor] = []
    for answer in fetch_all(_Reader(images), in_pieces()):
        if isinstance(answer, InputError):
            raise answer
        read.append(answer)
        if len(read) == pieces[0]:
            pieces.popleft()
            yield read[0] if len(read) == 1 else torch.cat(read)
            read = []


def as_tensor(images: StoredImages, rows: Indices) -> Tensor:
    """Some images, read here and now."""
    return torch.from_numpy(images[rows])


class ReadAhead:
    """The batches of consecutive steps, read before they are asked for; any other step is read when it is.

    Args:
        images: stored images.
        rows_of: the rows of a step.
    """

    def __init__(self, images: StoredImages, rows_of: Callable[[int], Indices]) -> None:
        keep_freed_memory()  # batches of large images come and go
        self.images, self.rows_of = images, rows_of
        self._next: int | None = None  # the step that follows the last one that was asked for
        self._stream: Iterator[Tensor] | None = None  # begins with that step

    def read(self, step: int) -> Tensor:
        """The bytes of a step's batch."""
        give_back_excess()
        follows, self._next = step == self._next, step + 1
        if not follows:
            self.close()
            rows = self.rows_of(step)
            if len(rows) <= FETCHED_IMAGES:  # a single small batch is read sooner than processes are started
                return as_tensor(self.images, rows)
        # a second step in a row, or a large batch: a training, which will want the next ones too
        self._stream = self._stream or read_parts(self.images, map(self.rows_of, count(step)))
        return next(self._stream)

    def close(self) -> None:
        """End the processes, if there are any."""
        self._stream = None


class _Reader:
    """Errors come back as answers: raised in another process, they would arrive as many lines of traceback."""

    def __init__(self, images: StoredImages) -> None:
        self.images = images

    def __call__(self, rows: Indices) -> Tensor | InputError:
        try:
            return as_tensor(self.images, rows)
        except InputError as error:
            return error


class _Fetched(Dataset[Any], Generic[Answer]):
    """What DataLoader calls with a whole part at a time."""

    def __init__(self, fetch: Callable[[Indices], Answer]) -> None:
        self.fetch = fetch

    def __getitems__(self, rows: Indices) -> Answer:
        return self.fetch(rows)


def _as_it_is(answer: Answer) -> Answer:
    return answer


def _begin(_: int) -> None:
    """In a new process. It must not outlive its parent: it holds the lock of the parent's run, which may go on soon."""
    end_with_parent()
