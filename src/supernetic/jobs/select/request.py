"""The request of `select`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import ClassVar

from ...errors import InputError, UnknownNameError
from ...model_names import MODEL_SIZES
from ...numerals import real_number
from ...selection.subsets import AUTO, LEARNED_SPLITS, parse_sizes
from ..request import IMAGE_MINIMUM, Request
from .models import joined_model_names


@dataclass(frozen=True)
class SelectRequest(Request):
    """The settings of `select`."""

    data: str | Path = "embedded"
    models: str | Sequence[str] | None = None
    sizes: str = AUTO
    seeds: int = 2
    minutes: float | None = None
    on: str = "test"
    stratified: bool = False
    size: str = "cpu"
    recipe: str | Path | None = None
    limit: int | None = None
    workers: int | None = None
    rates: str | float | Sequence[float] | None = None
    processes: int = 1
    device: str = "auto"
    precision: str = "no"
    image_size: int | None = None
    valid: float | None = None
    skip_bad: bool = False

    MINIMUM: ClassVar[Mapping[str, float]] = {"seeds": 1, "limit": 1, "workers": 1, "processes": 1, **IMAGE_MINIMUM}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(
            self, "models", joined_model_names(self.models)
        )  # lines of a file are recorded, not its name
        object.__setattr__(self, "rates", parse_rates(self.rates))
        if self.size not in MODEL_SIZES:
            raise UnknownNameError("size", self.size, MODEL_SIZES)
        if self.on not in LEARNED_SPLITS:
            raise UnknownNameError("split to score on", self.on, LEARNED_SPLITS)
        if self.sizes != AUTO:
            parse_sizes(self.sizes)


def parse_rates(rates: str | float | Sequence[float] | None) -> tuple[float, ...] | None:
    """Learning rates, from text or numbers."""
    if rates is None:
        return None
    given = rates.split(",") if isinstance(rates, str) else [rates] if isinstance(rates, int | float) else rates
    try:
        numbers = tuple(real_number(r) if isinstance(r, str) else float(r) for r in given)
    except (TypeError, ValueError):
        raise InputError(f"rates must be numbers such as 3e-4,1e-3, got {rates!r}") from None
    if not numbers or not all(0 < rate < inf for rate in numbers):
        raise InputError(f"rates must be positive and finite, got {rates!r}")
    return numbers
