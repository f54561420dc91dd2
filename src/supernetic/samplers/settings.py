"""Fields of frozen dataclasses from the tables of a TOML file: unknown keys and wrong types are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from ..errors import InputError, UnknownNameError


def read_fields(
    what: str, kind: type, table: Mapping[str, Any], inner: Mapping[str, Callable[[Any], Any]]
) -> dict[str, Any]:
    """The values of a dataclass's fields; those whose type names a key of `inner` are read by it."""
    known = {f.name: str(f.type) for f in fields(kind)}  # types are text: annotations are not evaluated
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise UnknownNameError(f"setting of {what}", key, known)
        reader = next((read for name, read in inner.items() if name in known[key]), None)
        values[key] = reader(value) if reader else _plain(f"{what}: {key}", known[key], value)
    return values


def _plain(what: str, kind: str, value: Any) -> Any:
    if kind == "tuple[str, ...]":
        listed = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else (None,)
        if all(isinstance(v, str) for v in listed):
            return listed
    elif kind.startswith("Literal"):
        options = [option.strip("\" '") for option in kind[len("Literal[") : -1].split(",")]
        if value not in options:
            raise UnknownNameError(what, str(value), options)
        return value
    elif type(value).__name__ in ("int", "float") and kind == "float":
        return float(value)
    elif type(value).__name__ == kind:
        return value
    raise InputError(f"{what} must be {kind}, got {value!r}")
