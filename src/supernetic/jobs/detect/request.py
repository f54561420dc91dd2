"""The request of `detect`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...errors import InputError
from ..request import Request
from .mirroring import AUTO, CHOICES

MOST_PIXELS = 4096  # of an image's side


@dataclass(frozen=True)
class DetectRequest(Request):
    """The settings of `detect`."""

    backbone: str | Path
    data: str | Path
    minutes: float | None = None
    steps: int | None = None
    recipe: str | Path | None = None
    image_size: int | None = None
    channels: int = 64
    shrink: float | None = None
    limit: int | None = None
    seed: int = 0
    augment: str = AUTO

    MINIMUM: ClassVar[Mapping[str, float]] = {"steps": 1, "image_size": 64, "channels": 8, "limit": 1, "seed": 0}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.minutes is not None and self.steps is not None:
            raise InputError(
                f"a detector trains for minutes or for steps, got {self.minutes:g} minutes and {self.steps}"
            )
        if self.image_size is not None and self.image_size > MOST_PIXELS:
            raise InputError(f"image_size must be at most {MOST_PIXELS}, got {self.image_size}")
        if self.augment not in CHOICES:
            raise InputError(f"augment must be one of {', '.join(CHOICES)} for a detector, got {self.augment}")
        if self.channels % 8:
            raise InputError(f"channels must be a multiple of 8, got {self.channels}")
        if self.shrink is not None and not 0 < self.shrink <= 1:
            raise InputError(f"shrink must be a share of the MACs that is kept, in 0..1, got {self.shrink:g}")
