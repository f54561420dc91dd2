"""What `study` is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..jobs.request import Request


@dataclass(frozen=True)
class StudyRequest(Request):
    """The settings of `study`."""

    file: str | Path
    data: str | Path | None = None
    workers: int = 1

    MINIMUM: ClassVar[Mapping[str, float]] = {"workers": 1}
