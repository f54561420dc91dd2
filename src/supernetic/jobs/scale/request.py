"""The request of `scale`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import ClassVar

from ...datasets.balance import AUTO as BALANCE_AUTO
from ...datasets.balance import check_way
from ...errors import InputError, UnknownNameError
from ...scaling.budgets import MAX_STAGES
from ...scaling.generalise import DEFAULT_FAMILY, FAMILIES
from ..compare.int8 import require_mode
from ..request import IMAGE_MINIMUM, Request
from ..search.choose_space import AUTO
from .members import BEST_CURVE

ORDER_NETWORKS = 60  # whose accuracy is compared with their MACs
PRIORS = ("uniform", "size")


@dataclass(frozen=True)
class ScaleRequest(Request):
    """The settings of `scale`."""

    data: str | Path = "embedded"
    space: str = AUTO
    stages: int = 3
    base_budget: str | float = AUTO
    extrapolate: int = 1
    minutes: float | None = None
    curve: str = DEFAULT_FAMILY
    prior: str = "uniform"
    ratio: float = 1.0
    steps: int | None = None
    bases: int | None = None
    rounds: int | None = None
    population: int | None = None
    generations: int | None = None
    network_steps: int | None = None
    order: int = ORDER_NETWORKS
    recipe: str | Path | Mapping[str, object] | None = None
    retrain_recipe: str | Path | Mapping[str, object] | None = None
    limit: int | None = None
    threads: int | None = None
    workers: int | None = None
    device: str = "auto"
    precision: str = "no"
    seed: int = 0
    image_size: int | None = None
    valid: float | None = None
    skip_bad: bool = False
    balance: str = BALANCE_AUTO
    int8: str = "auto"

    MINIMUM: ClassVar[Mapping[str, float]] = {
        "stages": 1, "extrapolate": 0, "steps": 1, "network_steps": 1, "bases": 1, "rounds": 1, "population": 2,
        "generations": 1, "limit": 1, "threads": 1, "workers": 1, "seed": 0, "order": 0, **IMAGE_MINIMUM,
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        check_way(self.balance)
        total = self.stages + self.extrapolate
        if total > MAX_STAGES:
            raise InputError(f"stages and extrapolated ones together must be at most {MAX_STAGES}, got {total}")
        if self.curve not in (*FAMILIES, BEST_CURVE):
            raise UnknownNameError("family of curves", self.curve, (*FAMILIES, BEST_CURVE))
        if self.curve in FAMILIES and (needed := len(FAMILIES[self.curve].start)) > self.stages:
            raise InputError(f"{self.curve} has {needed} parameters: it needs as many stages, got {self.stages}")
        if not 0 < self.ratio < inf:
            raise InputError(f"ratio must be a positive number, got {self.ratio:g}")
        if self.prior not in PRIORS:
            raise UnknownNameError("stage prior", self.prior, PRIORS)
        require_mode(self.int8)
