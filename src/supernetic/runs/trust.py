"""What code a call may run: what the user names in that call, and never what a directory names.

People send run and model directories to one another. A directory is data: no Python file, text or class that it names
is run unless the user says so (`--trust-code`, `trust_code=True`), or unless the call names the very same code.

- `opens_runs` marks a public function: the files and classes that its call names may be run.
- `following(run)` marks what is done because a run says so: no file is the user's there.
- `read_code(file)` reads every Python file that is to be run, and `require_trust` guards everything else.

A run keeps a copy of each Python file that its job was given, and the digest in its settings:

    [code."mine.py"]                    the copy is code/mine.py
    source = "/home/ann/mine.py"        as the job was given it
    sha256 = "..."
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ..errors import InputError, RunError, TrustError
from ..reading import read_text, reason
from .directory import read_plain_file, read_settings
from .files import CODE, SETTINGS

SHOWN_DIGITS = 16  # of a digest, in messages
DEEPEST_FIELD = 5  # to which classes are looked for in what a call is given
NAME = re.compile(r"\w[\w.+-]*")
LONGEST_NAME = 200  # bytes; files beside it have longer ones, and 255 are the most

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Policy:
    """What may be run within a call."""

    everything: bool = False  # the user said so
    received: Path | None = None  # the run whose words are followed
    files: dict[str, str] = field(default_factory=dict)  # texts of the Python files read in this call, by full path
    digests: set[str] = field(default_factory=set)  # of all code that the user named, in calls around this one too
    classes: dict[str, type] = field(default_factory=dict)  # of objects that the user gave, by `module:Class`


_OUTSIDE = Policy()  # of any call; nothing is noted in it
_POLICY: ContextVar[Policy] = ContextVar("trust", default=_OUTSIDE)


@contextmanager
def trusting(everything: bool = False, *, given: object = ()) -> Iterator[Policy]:
    """Within, the code that the user names may be run.

    Args:
        everything: whether code that a directory names may be run too.
        given: arguments of the call; the classes of its objects are the user's.
    """
    outer = _POLICY.get()
    classes = {**outer.classes, **dict(_classes_in(given))}
    with _policy(Policy(everything or outer.everything, outer.received, {}, set(outer.digests), classes)) as policy:
        yield policy


@contextmanager
def following(run: Path) -> Iterator[None]:
    """Within, things are done because a run says so: the files that are named are the run's, not the user's."""
    with _policy(dataclasses.replace(_POLICY.get(), received=run, files={})):
        yield


@contextmanager
def _policy(policy: Policy) -> Iterator[Policy]:
    before = _POLICY.set(policy)
    try:
        yield policy
    finally:
        _POLICY.reset(before)


def opens_runs(function: Callable[P, R]) -> Callable[P, R]:
    """A public function that may meet code of a run: its argument `trust_code` allows it."""

    @wraps(function)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        given = {name: value for name, value in kwargs.items() if name != "on_event"}  # no run ever names a listener
        with trusting(bool(kwargs.get("trust_code", False)), given=(args, given)):
            return function(*args, **kwargs)

    return within


def current_policy() -> Policy:
    """For processes that this one starts: `install_policy` takes it over there."""
    return _POLICY.get()


def install_policy(policy: Policy) -> None:
    """Let this process run what its parent may."""
    _POLICY.set(policy)


def with_policy(work: Callable[..., R]) -> Callable[..., R]:
    """Work for other processes that may run there what it may here."""
    policy = current_policy()

    def within(*args: Any) -> R:
        with _policy(policy):
            return work(*args)

    return within


# --- code -------------------------------------------------------------------------------------------------------------


def require_trust(what: str, sha256: str = "") -> None:
    """Refuse code of a run, unless it may be run.

    Args:
        what: the code, in words that name its file or class.
        sha256: digest of its text; the same code that the user named in this call needs no other permission.
    """
    policy = _POLICY.get()
    if policy.everything or sha256 in policy.digests:
        return
    digest = f" (sha256 {sha256[:SHOWN_DIGITS]})" if sha256 else ""
    raise TrustError(f"{what}{digest} is code that a run names: read it, then allow it with --trust-code")


def read_code(file: str | Path) -> str:
    """The text of a Python file that is to be run.

    A file that the user names is read as it is. One that a run names is the run's copy, and needs trust.
    """
    policy, source = _POLICY.get(), str(Path(file).resolve())
    if policy.received is not None:
        text = kept_code(policy.received, source)
    else:
        try:
            text = read_text(file)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file} cannot be read: {reason(error)}") from None
    name_code(text, source)
    return text


def name_code(text: str, source: str = "") -> None:
    """Note that the user named this code, and its file if it has one."""
    policy = _POLICY.get()
    if policy is _OUTSIDE:
        return
    policy.digests.add(digest_of(text))
    if source:
        policy.files[source] = text


def kept_code(run: Path, source: str) -> str:
    """The text of a run's copy of a Python file, after trust was required and its digest checked.

    Args:
        run: the run's directory.
        source: full path of the file as the job was given it.
    """
    table = read_settings(run).get(CODE, {})
    entries = table.items() if isinstance(table, Mapping) else ()
    name, digest = next(
        ((n, str(e.get("sha256"))) for n, e in entries if isinstance(e, Mapping) and e.get("source") == source),
        ("", ""),
    )
    if not name:
        raise RunError(f"{run} names the Python file {source} but keeps no copy of it: give the job that file again")
    file = run / CODE / require_name(name, f"a file of {run / SETTINGS}")
    require_trust(str(file), digest)
    text = read_plain_file(run, file).decode("utf-8", errors="replace")
    if digest_of(text) != digest:
        now = digest_of(text)[:SHOWN_DIGITS]
        raise RunError(f"{file} was changed: its sha256 is {now}, {SETTINGS} says {digest[:SHOWN_DIGITS]}")
    return text


def code_of_call() -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """The Python files read in this call: the table for a run's settings, and the texts by their names there."""
    table: dict[str, dict[str, str]] = {}
    texts: dict[str, str] = {}
    for source, text in _POLICY.get().files.items():
        stem = re.sub(r"[^\w.+-]|^\W", "_", Path(source).stem)
        name = next(n for n in (f"{stem}{i or ''}.py" for i in range(len(texts) + 1)) if n not in texts)
        table[name] = {"source": source, "sha256": digest_of(text)}
        texts[name] = text
    return table, texts


def digest_of(text: str) -> str:
    """SHA-256 of code."""
    return hashlib.sha256(text.encode()).hexdigest()


# --- names and classes ------------------------------------------------------------------------------------------------


def require_name(name: object, what: str = "a model's name") -> str:
    """A name that may become one of a file or a directory, whether a user or a file says it."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"{what} must be one for a directory, of letters, digits, '_', '.', '+' and '-', got {name!r}")
    if len(name.encode(errors="replace")) > LONGEST_NAME:
        raise InputError(f"{what} must have at most {LONGEST_NAME} bytes, got {len(name)} letters: {name[:40]}...")
    return name


def class_name(kind: type) -> str:
    """`module:Class`."""
    return f"{kind.__module__}:{kind.__qualname__}"


def given_class(name: str) -> type | None:
    """The class of an object that the user gave in this call, by `module:Class`."""
    return _POLICY.get().classes.get(name)


def _classes_in(value: object, depth: int = 0) -> Iterator[tuple[str, type]]:
    """Classes of the objects in arguments, those in their fields included."""
    if depth > DEEPEST_FIELD or isinstance(value, str | bytes | int | float | Path | type | None):
        return
    inner: list[object] = []
    if isinstance(value, Mapping):
        inner = list(value.values())
    elif isinstance(value, list | tuple):
        inner = list(value)
    elif dataclasses.is_dataclass(value):
        inner = [getattr(value, f.name, None) for f in dataclasses.fields(value)]
    yield class_name(type(value)), type(value)
    for part in inner:
        yield from _classes_in(part, depth + 1)
