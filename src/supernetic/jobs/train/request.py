"""The request of `train`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...datasets.balance import AUTO, check_way
from ...samplers.step import Sampler
from ...space import Space
from ..request import IMAGE_MINIMUM, Request
from .fit_space import check_stabiliser

if TYPE_CHECKING:
    from ...training.recipe import Recipe


@dataclass(frozen=True)
class TrainRequest(Request):
    """The settings of `train`."""

    space: str | Space
    data: str | Path = "embedded"
    sampler: str | Mapping[str, Any] | Sampler | None = None
    recipe: str | Path | Recipe | None = None
    steps: int | None = None
    stabiliser: str = ""
    limit: int | None = None
    threads: int | None = None
    device: str = "auto"
    precision: str = "no"
    processes: int = 1
    snapshots: Sequence[str] = ()
    latency: str | Path | None = None
    start: str | Path | None = None
    seed: int = 0
    image_size: int | None = None
    valid: float | None = None
    skip_bad: bool = False
    calibrate: float | None = None
    split_seed: int | None = None
    balance: str = AUTO

    MINIMUM: ClassVar[Mapping[str, float]] = {
        "steps": 1,
        "limit": 1,
        "threads": 1,
        "processes": 1,
        "seed": 0,
        "calibrate": 0,
        "split_seed": 0,
        **IMAGE_MINIMUM,
    }
    LISTS: ClassVar[tuple[str, ...]] = ("snapshots",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_way(self.balance)

    def check_texts(self) -> None:
        """The same, and the stabiliser."""
        super().check_texts()
        check_stabiliser(self.space, self.stabiliser)
