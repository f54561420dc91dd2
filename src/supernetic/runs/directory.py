"""A run: a directory that can be read without us and resumed after any kind of interruption.

    run.toml        settings, seeds, the space's fingerprint, versions
    trials.jsonl    one line per evaluated architecture, in the order asked
    timings.jsonl   how long things took; the only file that may differ between two runs of the same settings

Files are replaced atomically or appended line by line; a line torn by a kill is cut off on opening. A lock keeps a
second process out and vanishes with the process that holds it.

A run may come from someone else. It holds plain files and directories: one with a link in it is not written, since
what is written there would land elsewhere.
"""

from __future__ import annotations

import json
import os
import platform
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from secrets import token_hex
from time import monotonic, perf_counter, sleep
from typing import Any, Self

import numpy as np
import tomli_w
from filelock import lock_descriptor

from .. import __version__
from ..errors import RunError, SupernetError
from ..reading import parse_json, read_bytes, read_toml, reason
from .durable import note_appended, sync_appended, sync_directory
from .files import CHECKPOINTS, CODE, FIGURES, INHERITED_WEIGHTS, INT8_NETWORKS, SNAPSHOTS
from .files import LOCK as LOCK
from .files import SETTINGS as SETTINGS
from .files import TIMINGS as TIMINGS
from .files import TRIALS as TRIALS

TEMPORARY = re.compile(r"\.(?P<name>.+?)(\.[0-9a-f]{16})?\.tmp")  # what `write_atomically` writes before it is in place
FOLDERS = (
    CHECKPOINTS,
    SNAPSHOTS,
    FIGURES,
    CODE,
    INHERITED_WEIGHTS,
    INT8_NETWORKS,
)  # of a run's own files
GLANCE_S = 0.3  # for which a lock is waited for: another process may only look whether the run is in use
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # Windows has none; there it is looked at first
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError)
LONGEST_REASON = 200  # characters of why a file cannot be used
TOML_KINDS = {str: "text", int: "a whole number", list: "a list", dict: "a table"}  # for messages


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

    def append(self, name: str, records: Iterable[Mapping[str, Any]], *, sync: bool = False) -> None:
        """Add records to a `.jsonl` file, one line each; with `sync`, wait until the disk has them."""
        with _errors(self.path):
            append_records(self.path / name, records, sync=sync)

    @contextmanager
    def timed(self, task: str) -> Iterator[None]:
        """Record how long a task took, unless it fails."""
        begin = perf_counter()
        yield
        self.append(TIMINGS, [{"task": task, "seconds": round(perf_counter() - begin, 3)}])

    def write(self, name: str, text: str) -> None:
        """Put a whole file in place at once."""
        with _errors(self.path):
            write_atomically(self.path / name, text)


def open_run(
    path: str | Path,
    settings: Mapping[str, Any],
    *,
    patience: float = 0.0,
    uncompared: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
) -> Run:
    """The run at `path`: a new one, or the one with these very settings, ready to be resumed.

    Args:
        path: The run's directory.
        settings: What the run is compared by.
        patience: Seconds for which another process that holds it is waited for.
        uncompared: Settings, such as `request` or `request.workers`, that are kept but do not make it another run.
        files: Texts that the run keeps, by their paths in it.
    """
    path = Path(path)
    wanted = tomllib.loads(tomli_w.dumps(plain(settings)))  # what will be read back, so that both sides compare alike
    with _errors(path):
        require_own_directory(path)
        path.mkdir(parents=True, exist_ok=True)
        refuse_links(path)
        lock = _lock(path, patience)
        try:
            _remove_temporary_files(path)
            if (path / SETTINGS).exists():
                _compare(path, read_settings(path), wanted, uncompared)
            else:
                versions = {"supernetic": __version__, "python": platform.python_version(), "numpy": np.__version__}
                write_atomically(path / SETTINGS, tomli_w.dumps({**wanted, "versions": versions}))
            for name, text in (files or {}).items():
                _keep_file(path / name, text)
            for file in path.glob("*.jsonl"):
                _cut_torn_line(file)
        except BaseException:
            os.close(lock)
            raise
    return Run(path, wanted, lock)


def require_own_directory(path: Path) -> None:
    """Refuse a directory that holds anything but a run."""
    if path.exists() and not (path / SETTINGS).exists() and not all(_is_leftover(p.name) for p in path.iterdir()):
        raise RunError(f"{path} holds other files and no {SETTINGS}: a run needs a directory of its own")


def read_settings(path: str | Path) -> dict[str, Any]:
    """The settings of a run, versions included."""
    try:
        return read_toml(Path(path) / SETTINGS)
    except (OSError, ValueError) as e:
        raise RunError(f"{Path(path) / SETTINGS} cannot be read: {reason(e)}") from None


def require_settings(path: str | Path, settings: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    """Refuse settings that do not have what is needed of them: the file may be damaged, or come from elsewhere.

    Args:
        path: The run, for the message.
        settings: As they were read.
        kinds: What each setting must be; those within a table are named `data.classes`.
    """
    for name, kind in kinds.items():
        value: Any = settings
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if not isinstance(value, kind):
            got = "nothing" if value is None else repr(value)[:40]
            raise RunError(f"{Path(path) / SETTINGS} is damaged: {name} must be {TOML_KINDS[kind]}, got {got}")


def read_records(file: Path) -> list[dict[str, Any]]:
    """The records of a `.jsonl` file, each of them a table; a torn last line is left out."""
    if not file.exists():
        return []
    records: list[dict[str, Any]] = []
    try:
        for number, line in enumerate(read_bytes(file).split(b"\n")[:-1], 1):
            record = parse_json(line)
            if not isinstance(record, dict):
                raise ValueError(f"line {number} must be a table of fields")
            records.append(record)
    except (OSError, ValueError) as e:
        raise RunError(f"{file} is damaged, not only cut short: {reason(e)}") from None
    return records


@contextmanager
def naming_damage(place: str | Path) -> Iterator[None]:
    """Within, files of a run are made sense of; whatever does not fit is said in one line that names the file."""
    try:
        yield
    except SupernetError:
        raise
    except DAMAGE as error:
        what = f"{type(error).__name__}: {reason(error)}"[:LONGEST_REASON]
        raise RunError(f"{place} is damaged, or of another version: {what}") from error


def same_settings(path: str | Path, settings: Mapping[str, Any], uncompared: Sequence[str] = ()) -> bool:
    """Whether the run at `path` has these settings; its code is compared only if they say what it is."""
    try:
        there = read_settings(path)
        if CODE not in settings:
            there.pop(CODE, None)
        _compare(Path(path), there, tomllib.loads(tomli_w.dumps(plain(settings))), uncompared)
    except RunError:
        return False
    return True


def write_atomically(path: Path, content: str | bytes, *, sync: bool = True) -> None:
    """Write beside the file, then put it in place, so that nobody ever sees half of it.

    The file beside it has a name that nobody can foresee, and is new. A link in the file's place is replaced itself.

    Args:
        path: the file.
        content: text, or bytes.
        sync: whether to wait until the disk has it, and all records that were appended before (`runs.durable`).
    """
    temporary = temporary_name(path)
    if sync:
        sync_appended()
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS | _BINARY, 0o666)
        with open(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
        if sync:
            sync_directory(path.parent)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def temporary_name(path: Path) -> Path:
    """Where something is written before it is put in place: beside it, under a name that nobody can foresee."""
    return path.with_name(f".{path.name}.{token_hex(8)}.tmp")


def append_records(path: Path, records: Iterable[Mapping[str, Any]], *, sync: bool = False) -> None:
    """Add records to a `.jsonl` file, one line each.

    Args:
        path: the file.
        records: what is added.
        sync: whether to wait until the disk has them; else they are there before the next file is put in place.
    """
    text = "".join(json.dumps(r, allow_nan=False, separators=(",", ":")) + "\n" for r in records)
    with open(_open_own(path, os.O_RDWR | os.O_APPEND | os.O_CREAT), "ab") as file:
        file.write(text.encode())
    note_appended(path)
    if sync:
        sync_appended()


def read_plain_file(run: Path, file: Path) -> bytes:
    """The content of a file inside a run, reached through no link."""
    try:
        for part in (*file.relative_to(run).parents,)[:-1]:
            refuse_link(run / part)
        with open(_open_no_link(file, os.O_RDONLY | _NO_WAITING), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise RunError(_link_message(file))
            return opened.read()
    except OSError as error:
        raise RunError(f"{file} cannot be read: {error.strerror or error}") from None


def refuse_links(run: Path) -> None:
    """Refuse to write a run that holds a link, or anything else that is no plain file and no directory."""
    with os.scandir(run) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # the temporary file of another process
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    refuse_links(Path(entry.path))
                elif not stat.S_ISREG(mode):
                    raise RunError(_link_message(Path(entry.path)))


def read_modest_file(file: Path, most: int) -> bytes | None:
    """The content of a plain file of a directory that nobody vouches for; None if there is no such file.

    A link, a pipe (which would be waited for) and a file of more than `most` bytes are refused.
    """
    if file.is_symlink():
        raise RunError(f"{file.name} is a link, which is not followed")
    try:
        with open(os.open(file, os.O_RDONLY | NO_LINKS | _BINARY | _NO_WAITING), "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise RunError(f"{file.name} is no plain file")
            if status.st_size > most:
                raise RunError(f"{file.name} has {status.st_size:,} bytes, more than {most:,}")
            return opened.read(most)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"{file.name} cannot be read: {error.strerror or error}") from None


def in_use(run: Path) -> bool:
    """Whether a process holds the lock of a run. To find out, it is taken for a moment (see `GLANCE_S`)."""
    try:
        descriptor = _open_no_link(run / LOCK, os.O_RDONLY | _NO_WAITING)
    except (OSError, RunError):
        return False
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and not lock_descriptor(descriptor, blocking=False)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def jsonable(value: float) -> float | None:
    """A number for a record: non-finite ones are null."""
    return value if isfinite(value) else None


def plain(value: Any) -> Any:
    """Settings as TOML can hold them: lists for tuples, and no key for what is not set."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, bool | int | float | str):
        return value
    raise RunError(f"a setting must be text, a number, a list or a table, got {value!r}")


def _compare(path: Path, there: dict[str, Any], wanted: dict[str, Any], uncompared: Sequence[str] = ()) -> None:
    versions = there.pop("versions", {})
    version = versions.get("supernetic", "unknown") if isinstance(versions, Mapping) else "unknown"
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
    descriptor = _open_no_link(path / LOCK, os.O_RDWR | os.O_CREAT)
    until = monotonic() + max(patience, GLANCE_S)
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
    with open(_open_own(file, os.O_RDWR), "r+b") as opened:
        data = opened.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            opened.truncate(whole)


def _is_leftover(name: str) -> bool:
    """Whether a run that was killed before its first file can leave this behind."""
    match = TEMPORARY.fullmatch(name)
    return name == LOCK or (match is not None and match["name"] == SETTINGS)


def _remove_temporary_files(path: Path) -> None:
    """Remove what killed processes were writing; networks and models are runs and directories of their own."""
    for folder in (path, *(path / name for name in FOLDERS)):
        for file in folder.glob(".*.tmp"):
            if TEMPORARY.fullmatch(file.name) and not file.is_dir():
                file.unlink(missing_ok=True)


def _keep_file(file: Path, text: str) -> None:
    """Put a file into a run, unless it is there."""
    if not file.exists() or file.read_bytes() != text.encode():
        file.parent.mkdir(exist_ok=True)
        write_atomically(file, text)


_BINARY = getattr(os, "O_BINARY", 0)  # Windows would write other line ends
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for its other end


def _open_no_link(path: Path, flags: int) -> int:
    """A descriptor of a file that is no link; a new one gets the usual permissions."""
    refuse_link(path)
    return os.open(path, flags | NO_LINKS | _BINARY, 0o666)


def _open_own(path: Path, flags: int) -> int:
    """The same for a file that is changed in place: one that has other names gets a copy of its own first.

    Hard links cannot be told from files by their names. What is added to one would be added to a file elsewhere.
    """
    descriptor = _open_no_link(path, flags)
    status = os.fstat(descriptor)
    if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
        return descriptor
    with open(descriptor, "rb") as shared:
        shared.seek(0)
        write_atomically(path, shared.read())
    return _open_no_link(path, flags)


def refuse_link(path: Path) -> None:
    """Refuse to use a path whose last part is a link."""
    if path.is_symlink():
        raise RunError(_link_message(path))


def _link_message(path: Path) -> str:
    what = f"a link to {os.readlink(path)!r}" if path.is_symlink() else "no plain file"
    return f"{path} is {what}: a run that is written must hold plain files and directories, no link"


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Turn what the file system refuses into a `RunError`."""
    try:
        yield
    except OSError as e:
        raise RunError(f"the run directory {path} cannot be written: {e.strerror or e}") from None
