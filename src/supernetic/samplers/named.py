"""Samplers by name, and from the tables of a TOML file: `{name = "sandwich", between = {name = "attentive"}}`.

Plain settings may stand behind the name, as in `attentive:k=5`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ..errors import InputError, UnknownNameError
from ..settings import with_settings
from .attentive import Attentive
from .budgeted import Budgeted
from .fixed import Fixed
from .guided import Guided
from .hierarchical import Hierarchical
from .sandwich import Sandwich
from .settings import read_fields
from .single import Single
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
    "guided": Guided,
    "fixed": Fixed,
    "single": Single,
}


def sampler(settings: str | Mapping[str, Any]) -> Sampler:
    """Return a sampler from its name, or from a table of its name and settings; tables inside are samplers too."""
    if not isinstance(settings, str | Mapping):
        raise InputError(f"a sampler is a name or a table of its name and settings, got {settings!r}")
    table = {"name": settings} if isinstance(settings, str) else dict(settings)
    name, _, short = str(table.pop("name", "")).partition(":")
    if name not in SAMPLERS:
        raise UnknownNameError("sampler", name, SAMPLERS)
    plain = SAMPLERS[name](**read_fields(name, SAMPLERS[name], table, Sampler, sampler))
    complete: Sampler = with_settings(plain, name, short)
    return complete


def settings_of(sampler: Any) -> dict[str, Any]:
    """Return the table that `sampler` reads back, for the record of a run."""
    kind = type(sampler)
    table: dict[str, Any] = {"name": next((n for n, c in SAMPLERS.items() if kind is c), kind.__name__)}
    for f in fields(sampler) if is_dataclass(sampler) else ():
        value = getattr(sampler, f.name)
        if is_dataclass(value):
            table[f.name] = settings_of(value)
        elif isinstance(value, tuple):
            table[f.name] = list(value)
        elif value is not None:
            table[f.name] = value if isinstance(value, bool | int | float | str) else repr(value)
    return table
