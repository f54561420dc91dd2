"""The request of `select`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...selection.subsets import AUTO
from ..request import Request
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

    MINIMUM: ClassVar[Mapping[str, float]] = {"limit": 1, "workers": 1}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(
            self, "models", joined_model_names(self.models)
        )  # lines of a file are recorded, not its name
