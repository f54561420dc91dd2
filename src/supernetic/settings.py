"""Settings written as text behind a name, as in `nasbench201:cells=2,without=none+avg_pool_3x3` or `attentive:k=5`."""

from __future__ import annotations

import dataclasses
from typing import Any, get_type_hints

from .errors import InputError, UnknownNameError
from .numerals import real_number, whole_number

SETTING_TYPES = (bool, int, float, str, tuple[int, ...], tuple[str, ...])  # types that can be read from text
MOST = {int: 1_000_000, float: 100_000_000}  # of widths, resolutions, populations: far beyond what can be computed
LONGEST = 80  # characters of a wrong value in a message
FIXED_FIELDS = ("name", "paper")  # fields that settings may not change


def with_settings(base: Any, name: str, settings: str) -> Any:
    """Return a frozen dataclass with some of its fields changed.

    Args:
        base: The dataclass.
        name: Its name in error messages.
        settings: `key=value,...`; each value is read by the type of its field, `+` separates the items of a list.
    """
    hints = {k: h for k, h in get_type_hints(type(base)).items() if h in SETTING_TYPES}
    fields = [f.name for f in dataclasses.fields(base) if f.name in hints and f.name not in FIXED_FIELDS]
    values: dict[str, Any] = {}
    for item in filter(None, settings.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"settings of {name} are key=value,..., got {item!r}")
        if key not in fields:
            raise UnknownNameError(f"setting of {name}", key, fields)
        if key in values:
            raise InputError(f"{name}: {key} is set twice, to {values[key]} and to {value!r}")
        values[key] = _read(hints[key], f"{name}: {key}", value)
    return dataclasses.replace(base, **values) if values else base


def _read(hint: Any, what: str, value: str) -> Any:
    if hint is bool:
        if value.lower() not in ("true", "false"):
            raise InputError(f"{what} must be true or false, got {value!r}")
        return value.lower() == "true"
    if hint in (int, float):
        try:
            number = whole_number(value) if hint is int else real_number(value)
        except ValueError as error:
            raise InputError(f"{what} {error}, got {value[:LONGEST]!r}") from None
        if number <= 0:
            raise InputError(f"{what} must be positive, got {value}")
        if number > (most := MOST[hint]):
            raise InputError(f"{what} must be at most {most:,}, got {value}")
        return number
    if hint is str:
        return value
    items = value.split("+")
    if twice := [item for item in items if items.count(item) > 1]:
        raise InputError(f"{what} must list different items, got {twice[0]!r} twice")
    return tuple(items if hint == tuple[str, ...] else (_read(int, what, v) for v in items))
