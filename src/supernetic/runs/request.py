"""What a job was asked for, in words that a run can keep and `resume` can say again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError, RunError
from ..objective import Constraint, Objective
from ..space import Space
from .trust import class_name, given_class, require_trust

OBJECT = "object "  # how the words for what has none begin
LONGEST = 1000  # characters of them
CLASS, SETTINGS = "class", "settings"  # of the record of an object
PACKAGE = __name__.partition(".")[0]


class Kind(NamedTuple):
    """What an object of a user's own may be, and how one is recognised."""

    room: str  # of this package: its own classes of the kind
    fits: Callable[[type], bool]


def _has(*names: str) -> Callable[[type], bool]:
    return lambda kind: all(hasattr(kind, name) or name in getattr(kind, "__dataclass_fields__", ()) for name in names)


# Protocols of rooms above this one are known by their methods.
KINDS = {
    "space": Kind("spaces", lambda kind: issubclass(kind, Space)),
    "sampler": Kind("samplers", lambda kind: "__call__" in dir(kind) and kind.__module__ != "builtins"),
    "searcher": Kind("searchers", _has("search", "needs_budget")),
    "evaluator": Kind("evaluators", _has("metrics", "__call__")),
}


def to_record(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not None as text, numbers, lists and tables.

    Files are said by their full paths, objects by their classes and fields.
    """
    return {k: _plain(v, k) for k, v in arguments.items() if v is not None}


def _plain(value: Any, name: str = "") -> Any:
    """`name` is that of the argument: any text that names a file is meant so if it is `data`.

    Else it takes a slash or a suffix, as spaces have names too.
    """
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple) and not _is_kind(name, value):
        return [_plain(v) for v in value]
    if isinstance(value, str | Path):
        path = Path(value)
        is_file = name == "data" or isinstance(value, Path) or "/" in value or path.suffix
        return str(path.resolve()) if is_file and path.exists() else str(value)
    if isinstance(value, Objective | Constraint):
        return str(value)
    if isinstance(value, bool | int | float):
        return value
    record = object_record(name, value) if _is_kind(name, value) else None
    return OBJECT + " ".join(repr(value).split())[:LONGEST] if record is None else record


def from_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments from what `to_record` made of them; an error if one of them was an object that has no record."""
    for name, value in record.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, str) and part.startswith(OBJECT):
                what = part.removeprefix(OBJECT)
                raise RunError(f"{name} was given as an object from Python: call the job again with {what}")
    return {k: _restored(k, v) for k, v in record.items()}


def _restored(name: str, value: Any) -> Any:
    if isinstance(value, Mapping) and CLASS in value:
        return object_from_record(name, value)
    return tuple(value) if isinstance(value, list) else value


# --- objects ----------------------------------------------------------------------------------------------------------


def object_record(name: str, value: Any) -> dict[str, Any] | None:
    """An object as `module:Class` and the values of its fields.

    Args:
        name: what it is: `space`, `sampler`, `searcher` or `evaluator`.
        value: the object, such as a frozen dataclass.

    Returns:
        The record that `object_from_record` reads; None if a field holds something that text, numbers, lists and
        tables cannot say.
    """
    try:
        return {CLASS: class_name(type(value)), SETTINGS: _fields_record(name, value)}
    except TypeError:
        return None


def object_from_record(name: str, record: Mapping[str, Any]) -> Any:
    """The object of a record that `object_record` made.

    A class of this package is looked for among those of its kind. One of the user's own has to be given in this call,
    or needs trust: importing a module runs it.
    """
    text = str(record[CLASS])
    again = f"call the job again with the {name} as an object"
    if name not in KINDS:
        raise RunError(f"{name} cannot be an object of the class {text}: only {', '.join(KINDS)} can")
    kind = given_class(text) or _imported(name, text, again)
    if not isinstance(kind, type) or not KINDS[name].fits(kind):
        raise RunError(f"{text} is no class of a {name}: {again}")
    if SETTINGS not in record:
        raise RunError(f"the fields of the {name} {text} could not be recorded: {again}")
    try:
        return kind(**{k: _field_value(name, v) for k, v in record[SETTINGS].items()})
    except (TypeError, ValueError, AttributeError, InputError) as error:
        raise RunError(f"the {name} {text} cannot be made of its record ({error}): {again}") from None


def _is_kind(name: str, value: Any) -> bool:
    return name in KINDS and KINDS[name].fits(type(value))


def _fields_record(name: str, value: Any) -> dict[str, Any]:
    if not dataclasses.is_dataclass(value):
        if getattr(value, "__dict__", None) or isinstance(value, tuple):
            raise TypeError(f"{value!r} has attributes, and says not which of them are settings")
        return {}
    fields = [f for f in dataclasses.fields(value) if f.init]
    values = {f.name: getattr(value, f.name) for f in fields}
    if any(values[f.name] is None and f.default is not None for f in fields):
        raise TypeError("None cannot be recorded where it is not the default")
    return {k: _field_record(name, v) for k, v in values.items() if v is not None}


def _field_record(name: str, value: Any) -> Any:
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_field_record(name, v) for v in value]
    if isinstance(value, Mapping) and all(isinstance(k, str) for k in value) and CLASS not in value:
        return {k: _field_record(name, v) for k, v in value.items()}
    if _is_kind(name, value):
        return {CLASS: class_name(type(value)), SETTINGS: _fields_record(name, value)}
    raise TypeError(f"{value!r} cannot be recorded")


def _field_value(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_field_value(name, v) for v in value)
    if isinstance(value, Mapping):
        if CLASS in value:
            return object_from_record(name, value)
        return {k: _field_value(name, v) for k, v in value.items()}
    return value


def _imported(name: str, text: str, again: str) -> Any:
    """What `module:Class` names."""
    module, _, path = text.partition(":")
    if module == "__main__" or "<" in text:
        raise RunError(f"the class {text} is of a script, a notebook or a function and cannot be imported: {again}")
    if module.partition(".")[0] == PACKAGE:
        room = f"{PACKAGE}.{KINDS[name].room}"
        if not (module == room or module.startswith(f"{room}.")):
            raise RunError(f"{text} is no class of a {name}: those of {PACKAGE} are in {room}")
    else:
        require_trust(f"the class {text} of a {name}")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        raise RunError(f"the class {text} cannot be imported ({type(error).__name__}: {error}): {again}") from None
    return found
