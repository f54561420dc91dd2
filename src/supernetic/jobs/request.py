"""The request of a job: a frozen record of its settings that its run keeps and `resume` reads again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Self

from ..errors import InputError
from ..runs.request import from_record, to_record

IMAGE_MINIMUM = {"image_size": 1, "valid": 0}  # of the settings of images that all jobs have


@dataclass(frozen=True)
class Request:
    """Base of the requests of all jobs; what is None follows from the data, the other settings or this machine.

    A subclass lists its fields with their defaults, the least value of its numbers in `MINIMUM`, and in `LISTS` the
    fields that may be given as one text or as several.
    """

    MINIMUM: ClassVar[Mapping[str, float]] = {}
    LISTS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name, least in self.MINIMUM.items():
            require_at_least(name, getattr(self, name), least)
        minutes = getattr(self, "minutes", None)
        if minutes is not None and not 0 < minutes < inf:
            raise InputError(f"minutes must be more than 0 and finite, got {minutes:g}")
        for name in self.LISTS:
            value: Any = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))

    def record(self) -> dict[str, Any]:
        """What differs from the defaults, as TOML can hold it; files by their full paths."""
        fields = dataclasses.fields(self)
        return to_record({f.name: v for f in fields if (v := getattr(self, f.name)) != f.default or f.name == "data"})

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The request that a run recorded, if text can say all of it."""
        unknown = set(record) - {f.name for f in dataclasses.fields(cls)}
        if unknown:
            raise InputError(f"the recorded request has an unknown setting: {sorted(unknown)[0]}")
        return cls(**from_record(record))


def require_at_least(name: str, value: float | None, least: float) -> None:
    """Refuse a number that is too small; None is left alone."""
    if value is not None and not value >= least:
        raise InputError(f"{name} must be at least {least}, got {value}")
