"""The request of `transfer`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...errors import InputError, UnknownNameError
from ..request import Request

LAYERS = ("all", "gradual", "head")  # which layers are trained


@dataclass(frozen=True)
class TransferRequest(Request):
    """The settings of `transfer` for one model and one data set."""

    model: str
    data: str | Path = "embedded"
    minutes: float | None = None
    steps: int | None = None
    trials: int | None = None
    recipe: str | Path | None = None
    layers: str = "all"
    teacher: str | None = None
    image_size: int | None = None
    limit: int | None = None
    int8: str = "auto"
    seed: int = 0
    workers: int | None = None
    device: str = "auto"
    precision: str = "no"

    MINIMUM: ClassVar[Mapping[str, float]] = {
        "steps": 1, "trials": 0, "image_size": 8, "limit": 1, "workers": 1, "seed": 0,
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers not in LAYERS:
            raise UnknownNameError("choice of layers", self.layers, LAYERS)
        if self.minutes is not None and self.steps is not None:
            raise InputError(f"a transfer takes minutes or steps, got minutes={self.minutes:g} and steps={self.steps}")
