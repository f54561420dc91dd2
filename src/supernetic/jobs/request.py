"""The request of a job: a frozen record of its settings that its run keeps and `resume` reads again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Self

from .. import catalog
from ..datasets.augment_names import augment_names
from ..errors import InputError
from ..families.efficientnet_lite import PRETRAINED
from ..hardware import AUTO, PRECISIONS, require_names
from ..objective import parse_quantity
from ..reading import reason, require_plain
from ..runs.directory import read_settings
from ..runs.request import from_record, to_record
from ..runs.trust import current_policy
from ..samplers.named import sampler as named_sampler
from ..training.recipe import read_recipe

LARGEST_SEED = 2**63 - 1
MOST = {  # of settings of any job: beyond them nothing could be computed, or no machine has as many
    "seed": LARGEST_SEED, "threads": 1024, "workers": 1024, "processes": 1024, "keep": 1_000, "stages": 64,
    "extrapolate": 64, "rounds": 10_000, "population": 1_000_000, "generations": 1_000_000, "bases": 1_000_000,
    "order": 1_000_000, "seeds": 1_000, "steps": 10**10, "network_steps": 10**10, "evaluations": 10**10,
    "limit": 10**12, "image_size": 4096, "valid": 10**12, "minutes": 10**7, "ratio": 10**6,
}  # fmt: skip
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
        for name, most in MOST.items():
            require_at_most(name, getattr(self, name, None), most)
        require_names(getattr(self, "device", AUTO), getattr(self, "precision", PRECISIONS[0]))
        for name in self.LISTS:
            value: Any = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))

    def check_texts(self) -> None:
        """Read the space and the recipes that are named, so that a mistake is told before torch is imported.

        Python files are left alone but for whether they can be read: they are run once.
        """
        space = getattr(self, "space", None)
        if current_policy().received is None:  # else the run has copies of its own
            for file in (space, *getattr(self, "baselines", ())):
                if isinstance(file, str) and file.endswith(".py"):
                    _require_readable(file)
        named = isinstance(space, str) and space != AUTO and not space.endswith(".py")
        if named and not catalog.space(str(space)).choices:
            raise InputError(f"{space} declares a single network: list several options of something to choose from")
        for name in ("recipe", "retrain_recipe"):
            asked = getattr(self, name, None)
            if isinstance(asked, str | Path):
                read_recipe(asked)
        sampler = getattr(self, "sampler", None)
        if isinstance(sampler, str | Mapping):
            named_sampler(sampler)
        augment = getattr(self, "augment", AUTO)
        if isinstance(augment, str) and augment != AUTO:
            augment_names(augment)
        for text in getattr(self, "snapshots", ()):
            parse_quantity(text)
        start = getattr(self, "start", None)
        if start is not None and start not in PRETRAINED:  # else a run
            read_settings(start)

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
        for name in ("data", "space"):
            if not isinstance(record.get(name, ""), str | Mapping):
                raise InputError(f"the recorded request says nothing that {name} can be: {record[name]!r}")
        return cls(**from_record(record))


def _require_readable(file: str) -> None:
    try:
        require_plain(file)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {reason(error)}") from None


def require_at_most(name: str, value: float | None, most: float) -> None:
    """Refuse a number that is too large, or none; None is left alone."""
    if isinstance(value, int | float) and not value <= most:
        shown = f"{value:g}" if isinstance(value, float) else value
        raise InputError(f"{name} must be at most {most:,}, got {shown}")


def require_at_least(name: str, value: float | None, least: float) -> None:
    """Refuse a number that is too small; None is left alone."""
    if value is not None and not value >= least:
        raise InputError(f"{name} must be at least {least}, got {value}")
