"""The request of `finish`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...errors import InputError
from ..request import Request


@dataclass(frozen=True)
class FinishRequest(Request):
    """The settings of `finish`. The run is not among them: it is where the request is kept, and may be moved."""

    model: str
    minutes: float | None = None
    steps: int | None = None
    recipe: str | Path | None = None
    seed: int = 0
    workers: int | None = None
    device: str = "auto"
    precision: str = "no"

    MINIMUM: ClassVar[Mapping[str, float]] = {"steps": 1, "workers": 1, "seed": 0}

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.minutes is None) == (self.steps is None):
            given = "neither" if self.minutes is None else f"minutes={self.minutes:g} and steps={self.steps}"
            raise InputError(f"a finish takes either minutes or steps, got {given}")

    def words(self) -> str:
        """The length, as an option of the command."""
        return f"--steps {self.steps}" if self.minutes is None else f"--minutes {self.minutes:g}"
