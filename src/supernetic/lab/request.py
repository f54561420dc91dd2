"""What `study` is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..jobs.request import IMAGE_MINIMUM, Request


@dataclass(frozen=True)
class StudyRequest(Request):
    """The settings of `study`."""

    file: str | Path
    data: str | Path | None = None
    workers: int = 1
    device: str = "auto"
    precision: str = "no"
    image_size: int | None = None
    valid: float | None = None
    tensorboard: bool = False

    MINIMUM: ClassVar[Mapping[str, float]] = {"workers": 1, **IMAGE_MINIMUM}
