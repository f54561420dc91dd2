"""Work that leaves a folder of files: in place on this machine, on a cluster as a copy that is brought back.

A worker of a cluster need not see the file system of the job. It gets the files that are there already (checkpoints of
an interrupted training), works in a scratch folder of its own machine, and answers with all files. They are put in
place here, the one that says "done" last, so that a folder is never taken for finished too early.

A scratch folder outlives the worker that made it: another one on that machine goes on from its checkpoints. Where
`SUPERNETIC_SCRATCH` names a folder that all machines share, one on any machine does.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Any, NamedTuple, TypeVar

from ..errors import RunError
from .workers import Report, map_in_workers, on_cluster

SCRATCH_VARIABLE = "SUPERNETIC_SCRATCH"
SAFE_NAME = re.compile(r"\w[\w.+-]*")  # of a file or folder that a worker sends

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Files = dict[str, bytes]  # by path in the folder


class _Piece(NamedTuple):
    item: Any
    folder: Path  # where it is on the machine of the job
    files: Files  # that are there already


def map_in_folders(
    work: Callable[[tuple[Item, Path], Report], Answer],
    items: Sequence[Item],
    folders: Sequence[Path],
    workers: int,
    progress: Callable[[int, int, int], None] | None = None,
    environments: Sequence[Mapping[str, str]] = ({},),
    *,
    done: str,
    given_up: Callable[[int, str], Answer] | None = None,
) -> list[Answer]:
    """Call `work((item, folder), report)` for each item, in this process, worker processes or on a cluster.

    Args:
        work: Writes into the folder, and goes on from what is there.
        items: What it is called with.
        folders: One for each item.
        workers: How many processes.
        progress: As for `map_in_workers`.
        environments: As for `map_in_workers`.
        done: The file that says that a folder is finished; it is put in place last.
        given_up: As for `map_in_workers`.

    Returns:
        The answers, in the order of the items.
    """
    if not on_cluster():
        pairs = list(zip(items, folders, strict=True))
        return map_in_workers(work, pairs, workers, progress, environments)
    answers: dict[int, Answer] = {}
    left = list(range(len(items)))
    while left:  # items of the same folder one after the other
        first = {folders[n]: n for n in reversed(left)}
        turn = sorted(first.values())
        answers |= zip(turn, _one_turn(work, items, folders, turn, progress, done, given_up), strict=True)
        left = [n for n in left if n not in answers]
    return [answers[n] for n in range(len(items))]


def _one_turn(
    work: Callable[[tuple[Item, Path], Report], Answer],
    items: Sequence[Item],
    folders: Sequence[Path],
    turn: Sequence[int],
    progress: Callable[[int, int, int], None] | None,
    done: str,
    given_up: Callable[[int, str], Answer] | None,
) -> list[Answer]:
    """Items of different folders, on a cluster."""

    def arrived(k: int, sent: Any) -> Answer:
        unpack(folders[turn[k]], sent["files"], done)
        answer: Answer = sent["answer"]
        return answer

    watch, instead = progress or (lambda *_: None), given_up
    return map_in_workers(
        _Work(work),  # type: ignore[arg-type]  # what it sends is turned into the answer by `arrived`
        [_Piece(items[n], folders[n].absolute(), pack(folders[n])) for n in turn],
        1,
        lambda k, steps_done, steps: watch(turn[k], steps_done, steps),
        given_up=None if instead is None else lambda k, reason: instead(turn[k], reason),
        arrived=arrived,
    )


class _Work:
    """The work on a copy of a folder, on a worker's machine."""

    def __init__(self, work: Callable[[tuple[Any, Path], Report], Any]) -> None:
        self.work = work

    def __call__(self, piece: _Piece, report: Report) -> dict[str, Any]:
        scratch = scratch_folder(piece.folder)
        folder = scratch / piece.folder.name
        if not folder.exists() and piece.files:
            unpack(folder, piece.files)
        answer = self.work((piece.item, folder), report)
        files = pack(folder)
        shutil.rmtree(scratch, ignore_errors=True)
        return {"answer": answer, "files": files}


def scratch_folder(folder: Path) -> Path:
    """Where a worker works on its copy of a folder; nobody else on its machine may write there."""
    named = os.environ.get(SCRATCH_VARIABLE)
    user = getattr(os, "getuid", lambda: 0)()
    base = Path(named) if named else Path(tempfile.gettempdir()) / f"supernetic-{user}"
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = base.lstat()
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != user):
        raise RunError(f"{base} belongs to someone else: let {SCRATCH_VARIABLE} name another folder")
    return base / hashlib.sha256(str(folder).encode()).hexdigest()[:32]


def pack(folder: Path) -> Files:
    """All files of a folder by their paths in it, without hidden ones: locks, and what is being written."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in _files(folder)}


def unpack(folder: Path, files: Mapping[str, bytes], done: str = "") -> None:
    """Make a folder hold these files and no others.

    Args:
        folder: The folder.
        files: By path in it.
        done: The file that is put in place last.
    """
    for name in files:
        parts = PurePosixPath(name).parts
        if not parts or not all(SAFE_NAME.fullmatch(part) for part in parts):
            raise RunError(f"a worker sent a file of an unsafe name, {name!r}: it is not written")
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(files, key=lambda name: name == done):
        _write(folder / name, files[name])
    for file in list(_files(folder)):
        if file.relative_to(folder).as_posix() not in files:
            file.unlink()
    for inner in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
        with suppress(OSError):  # not empty
            inner.rmdir()


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.is_file() and not path.is_symlink():
            yield path


def _write(path: Path, content: bytes) -> None:
    """Beside the file, then in place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{token_hex(8)}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
