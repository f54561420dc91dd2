"""Fields of frozen dataclasses from the tables of a TOML file; unknown keys and wrong types are errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ..errors import InputError, UnknownNameError


def read_fields(
    what: str, kind: type, table: Mapping[str, Any], inner: type, read_inner: Callable[[Any], Any]
) -> dict[str, Any]:
    """Return the values of a dataclass's fields.

    Args:
        what: Name of the dataclass in error messages.
        kind: The dataclass.
        table: Its settings by name.
        inner: Fields of this type (or of it and None) are read by `read_inner`.
        read_inner: Makes such a field from its value in the table.
    """
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in hints:
            raise UnknownNameError(f"setting of {what}", key, hints)
        is_inner = inner in (hints[key], *get_args(hints[key]))
        values[key] = read_inner(value) if is_inner else _plain(f"{what}: {key}", hints[key], value)
    return values


def _plain(what: str, hint: Any, value: Any) -> Any:
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise UnknownNameError(what, str(value), get_args(hint))
        return value
    if hint == tuple[str, ...]:
        listed = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else (None,)
        if all(isinstance(v, str) for v in listed):
            return listed
        raise InputError(f"{what} must be text or a list of texts, got {value!r}")
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise InputError(f"{what} must be {getattr(hint, '__name__', hint)}, got {value!r}")
    return value
