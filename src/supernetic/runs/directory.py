"""A run: a directory that can be read without us and resumed after any kind of interruption.

    run.toml        settings, seeds, the space's fingerprint, versions
    trials.jsonl    one line per evaluated architecture, in the order asked
    timings.jsonl   how long things took; the only file that may differ between two runs of the same settings

Files are replaced atomically or appended line by line; a line torn by a kill is cut off on opening. A lock keeps a
second process out and vanishes with the process that holds it.
"""

from __future__ import annotations

import json
import os
import platform
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any, Self

import numpy as np
import tomli_w
from filelock import lock_descriptor

from .. import __version__
from ..errors import RunError
from .files import LOCK, SETTINGS, TIMINGS, TRIALS

__all__ = [
    "SETTINGS",
    "TIMINGS",
    "TRIALS",
    "Run",
    "jsonable",
    "open_run",
    "read_records",
    "read_settings",
    "same_settings",
    "write_atomically",
]

LEFTOVERS = {LOCK, f".{SETTINGS}.tmp"}  # all that a run killed before its first file can leave behind


@dataclass(frozen=True)
class Run:
    """An open run directory; close it (or leave its `with` block) to release the lock."""

    path: Path
    settings: Mapping[str, Any]
    lock: int  # file descriptor; others that share it hold the run too

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock."""
        os.close(self.lock)

    def read(self, name: str) -> list[dict[str, Any]]:
        """The records of a `.jsonl` file, from oldest to newest; none if there is no such file."""
        return read_records(self.path / name)

    def append(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Add records to a `.jsonl` file, one line each."""
        text = "".join(json.dumps(r, allow_nan=False, separators=(",", ":")) + "\n" for r in records)
        with _errors(self.path), open(self.path / name, "ab") as file:
            file.write(text.encode())

    @contextmanager
    def timed(self, task: str) -> Iterator[None]:
        """Record how long a task took, unless it fails."""
        begin = perf_counter()
        yield
        self.append(TIMINGS, [{"task": task, "seconds": round(perf_counter() - begin, 1)}])

    def write(self, name: str, text: str) -> None:
        """Put a whole file in place at once."""
        with _errors(self.path):
            write_atomically(self.path / name, text)


def open_run(
    path: str | Path, settings: Mapping[str, Any], *, patience: float = 0.0, uncompared: Sequence[str] = ()
) -> Run:
    """The run at `path`: a new one, or the one with these very settings, ready to be resumed.

    Another process that holds it is waited for, up to `patience` seconds. Settings that are `uncompared`, such as
    `request` or `request.workers`, are kept but do not make it another run.
    """
    path = Path(path)
    wanted = tomllib.loads(tomli_w.dumps(_plain(settings)))  # what will be read back, so that both sides compare alike
    with _errors(path):
        if path.exists() and not (path / SETTINGS).exists() and {p.name for p in path.iterdir()} - LEFTOVERS:
            raise RunError(f"{path} holds other files and no {SETTINGS}: a run needs a directory of its own")
        path.mkdir(parents=True, exist_ok=True)
        lock = _lock(path, patience)
        try:
            if (path / SETTINGS).exists():
                _compare(path, read_settings(path), wanted, uncompared)
            else:
                versions = {"supernetic": __version__, "python": platform.python_version(), "numpy": np.__version__}
                write_atomically(path / SETTINGS, tomli_w.dumps({**wanted, "versions": versions}))
            for file in path.glob("*.jsonl"):
                _cut_torn_line(file)
        except BaseException:
            os.close(lock)
            raise
    return Run(path, wanted, lock)


def read_settings(path: str | Path) -> dict[str, Any]:
    """The settings of a run, versions included."""
    try:
        return tomllib.loads((Path(path) / SETTINGS).read_text())
    except (OSError, ValueError) as e:
        raise RunError(f"{Path(path) / SETTINGS} cannot be read: {e}") from None


def read_records(file: Path) -> list[dict[str, Any]]:
    """The records of a `.jsonl` file; a torn last line is left out."""
    if not file.exists():
        return []
    lines = file.read_bytes().split(b"\n")[:-1]
    try:
        return [json.loads(line) for line in lines]
    except ValueError as e:
        raise RunError(f"{file} is damaged, not only cut short: {e}") from None


def same_settings(path: str | Path, settings: Mapping[str, Any]) -> bool:
    """Whether the run at `path` has these settings."""
    try:
        _compare(Path(path), read_settings(path), tomllib.loads(tomli_w.dumps(_plain(settings))))
    except RunError:
        return False
    return True


def write_atomically(path: Path, text: str) -> None:
    """Write beside the file, then put it in place, so that nobody ever sees half of it."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_text(text)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def jsonable(value: float) -> float | None:
    """A number for a record: non-finite ones are null."""
    return value if isfinite(value) else None


def _plain(value: Any) -> Any:
    """Settings as TOML can hold them: lists for tuples, and no key for what is not set."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, bool | int | float | str):
        return value
    raise RunError(f"a setting must be text, a number, a list or a table, got {value!r}")


def _compare(path: Path, there: dict[str, Any], wanted: dict[str, Any], uncompared: Sequence[str] = ()) -> None:
    version = there.pop("versions", {}).get("supernetic", "unknown")
    if version != __version__:
        raise RunError(f"{path} was made by supernetic {version}, this is {__version__}: choose another directory")
    have, want = dict(_flat(there)), dict(_flat(wanted))
    for key in [*want, *have]:
        if any(key == u or key.startswith(f"{u}.") for u in uncompared):
            continue
        if have.get(key) != want.get(key):
            raise RunError(
                f"{path} belongs to other settings: {key} is {have.get(key, 'not set')!r} there, "
                f"{want.get(key, 'not set')!r} here; choose another directory"
            )


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _lock(path: Path, patience: float) -> int:
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    until = monotonic() + patience
    while True:
        try:
            if lock_descriptor(descriptor, blocking=False):
                return descriptor
            if monotonic() >= until:
                raise RunError(f"{path} is in use by another process")
        except BaseException:
            os.close(descriptor)
            raise
        sleep(0.1)


def _cut_torn_line(file: Path) -> None:
    """Drop what follows the last newline: a record that a kill interrupted."""
    data = file.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(file, whole)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Turn what the file system refuses into a `RunError`."""
    try:
        yield
    except OSError as e:
        raise RunError(f"the run directory {path} cannot be written: {e.strerror or e}") from None
