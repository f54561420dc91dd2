"""What a search on images is asked for, as a run records it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from ...errors import InputError, UnknownNameError
from ...objective import Constraint, Objective
from ...runs.request import from_record, to_record
from ...searchers import Searcher
from ...space import Space
from .goals import at_least

RETRAINS = ("auto", "scratch", "inherit", "none")
LEAST = {
    "keep": 1, "population": 2, "generations": 1, "evaluations": 2, "steps": 1, "network_steps": 1, "limit": 1,
    "threads": 1, "workers": 1, "seed": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Request:
    """The settings of `search`; whatever is None follows from the others, the data, or this machine."""

    data: str | Path = "embedded"
    space: str | Space = "auto"  # a name, a file, or what suits the images and the budget
    objectives: Sequence[str | Objective] = ()  # the best score (`images.scoring`) and the least MACs if empty
    where: Sequence[str | Constraint] = ()
    minutes: float | None = None  # for everything; without it, the recipes' own lengths
    keep: int = 5  # models to choose on the front
    preset: str | None = None
    searcher: str | Searcher = "nsga2"
    population: int | None = None
    generations: int | None = None
    evaluations: int | None = None
    retrain: str = "auto"  # scratch, inherit (from the supernet), none; auto: by the space's way of sharing
    baselines: Sequence[str | Path] = ()  # Python files with `build(classes, in_channels, side)`, or `timm:NAME`
    recipe: str | Path | None = None  # of the supernet
    retrain_recipe: str | Path | None = None  # of finished networks
    steps: int | None = None  # of the supernet's training
    network_steps: int | None = None  # of each finished network's
    sampler: str | None = None
    stabiliser: str = ""
    limit: int | None = None  # images, a subset of the data
    threads: int | None = None  # of the supernet's training; half the processors
    workers: int | None = None  # trainings at a time; as many as processors
    device: str = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            at_least(name, getattr(self, name), least)
        if self.minutes is not None and not 0 < self.minutes < inf:
            raise InputError(f"minutes must be more than 0 and finite, got {self.minutes:g}")
        if self.retrain not in RETRAINS:
            raise UnknownNameError("way to retrain", self.retrain, RETRAINS)
        for name in ("objectives", "where", "baselines"):
            value: Any = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))

    def record(self) -> dict[str, Any]:
        """What differs from the defaults, as TOML can hold it; files by their full paths."""
        fields = dataclasses.fields(self)
        return to_record({f.name: v for f in fields if (v := getattr(self, f.name)) != f.default or f.name == "data"})


def request_from(record: dict[str, Any]) -> Request:
    """The request that a run recorded, if text can say all of it."""
    return Request(**from_record(record))
