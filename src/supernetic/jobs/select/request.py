"""The request of `select`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import ClassVar

from ...errors import InputError
from ...selection.subsets import AUTO
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

    MINIMUM: ClassVar[Mapping[str, float]] = {"limit": 1, "workers": 1, "processes": 1, **IMAGE_MINIMUM}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(
            self, "models", joined_model_names(self.models)
        )  # lines of a file are recorded, not its name
        object.__setattr__(self, "rates", parse_rates(self.rates))


def parse_rates(rates: str | float | Sequence[float] | None) -> tuple[float, ...] | None:
    """Learning rates, from text or numbers."""
    if rates is None:
        return None
    given = rates.split(",") if isinstance(rates, str) else [rates] if isinstance(rates, int | float) else rates
    try:
        numbers = tuple(map(float, given))
    except (TypeError, ValueError):
        raise InputError(f"rates must be numbers such as 3e-4,1e-3, got {rates!r}") from None
    if not numbers or not all(0 < rate < inf for rate in numbers):
        raise InputError(f"rates must be positive and finite, got {rates!r}")
    return numbers
