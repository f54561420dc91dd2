"""Samplers by name, and from the tables of a TOML file: `{name = "sandwich", between = {name = "attentive"}}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ..errors import InputError, UnknownNameError
from .attentive import Attentive
from .budgeted import Budgeted
from .hierarchical import Hierarchical
from .sandwich import Sandwich
from .step import Sampler
from .strict_fair import StrictFair
from .uniform import Uniform

SAMPLERS: Mapping[str, type] = {
    "uniform": Uniform,
    "strict_fair": StrictFair,
    "sandwich": Sandwich,
    "attentive": Attentive,
    "hierarchical": Hierarchical,
    "budgeted": Budgeted,
}


def sampler(settings: str | Mapping[str, Any]) -> Sampler:
    """A sampler from its name, or from a table of its name and settings; tables inside are samplers too."""
    table = {"name": settings} if isinstance(settings, str) else dict(settings)
    name = str(table.pop("name", ""))
    if name not in SAMPLERS:
        raise UnknownNameError("sampler", name, SAMPLERS)
    known = {f.name: f for f in fields(SAMPLERS[name])}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise UnknownNameError(f"setting of {name}", key, known)
        values[key] = _value(f"{name}: {key}", known[key].type, value)
    made: Sampler = SAMPLERS[name](**values)
    return made


def _value(what: str, kind: Any, value: Any) -> Any:
    """A value of the field's type, which is text here (annotations are not evaluated)."""
    if "Sampler" in kind:
        return sampler(value)
    if kind == "tuple[str, ...]":
        value = (value,) if isinstance(value, str) else tuple(value)
        if all(isinstance(v, str) for v in value):
            return value
    elif kind.startswith("Literal") and isinstance(value, str):
        return value
    elif kind in ("int", "float", "bool", "str"):
        accepted = {"int": ("int",), "float": ("int", "float")}.get(kind, (kind,))
        if type(value).__name__ in accepted:
            return value
    raise InputError(f"{what} must be {kind}, got {value!r}")


def settings_of(made: Any) -> dict[str, Any]:
    """The table that `sampler` reads back, for a run's record."""
    table: dict[str, Any] = {"name": next((n for n, c in SAMPLERS.items() if type(made) is c), type(made).__name__)}
    for f in fields(made) if is_dataclass(made) else ():
        value = getattr(made, f.name)
        if is_dataclass(value):
            table[f.name] = settings_of(value)
        elif isinstance(value, tuple):
            table[f.name] = list(value)
        elif value is not None:
            table[f.name] = value if isinstance(value, bool | int | float | str) else repr(value)
    return table
