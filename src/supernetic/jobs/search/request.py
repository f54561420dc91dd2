"""The request of a search on images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...datasets.balance import AUTO, check_way
from ...errors import InputError, UnknownNameError
from ...evaluators import Evaluator
from ...families.efficientnet_lite import PRETRAINED
from ...objective import Constraint, Objective
from ...parallel.workers import on_cluster
from ...samplers.step import Sampler
from ...searchers import Searcher
from ...space import Space
from ..compare.int8 import require_mode
from ..request import IMAGE_MINIMUM, Request
from ..train.fit_space import check_stabiliser

RETRAIN_MODES = ("auto", "scratch", "inherit", "none")
SUPERNET_MODES = ("auto", "yes", "no")
EVIDENCE = ("short", "full", "none")
MAX_MODELS, MINUTES_PER_MODEL = 5, 20  # that are handed over by default


@dataclass(frozen=True)
class SearchRequest(Request):
    """The settings of `search`."""

    data: str | Path = "embedded"
    space: str | Space = "auto"
    objectives: Sequence[str | Objective] = ()
    where: Sequence[str | Constraint] = ()
    minutes: float | None = None
    keep: int | None = None
    start: str | None = None
    supernet: str = "auto"
    evidence: str = "short"
    teacher: bool = False
    augment: str = "auto"
    preset: str | None = None
    searcher: str | Searcher = "nsga2"
    evaluator: Evaluator | None = None
    population: int | None = None
    generations: int | None = None
    evaluations: int | None = None
    retrain: str = "auto"
    baselines: Sequence[str | Path] = ()
    recipe: str | Path | Mapping[str, object] | None = None
    retrain_recipe: str | Path | Mapping[str, object] | None = None
    steps: int | None = None
    network_steps: int | None = None
    sampler: str | Mapping[str, object] | Sampler | None = None
    stabiliser: str = ""
    limit: int | None = None
    threads: int | None = None
    workers: int | None = None
    device: str = "auto"
    precision: str = "no"
    seed: int = 0
    image_size: int | None = None
    valid: float | None = None
    skip_bad: bool = False
    balance: str = AUTO
    int8: str = "auto"

    MINIMUM: ClassVar[Mapping[str, float]] = {
        "keep": 1, "population": 2, "generations": 1, "evaluations": 2, "steps": 1, "network_steps": 1, "limit": 1,
        "threads": 1, "workers": 1, "seed": 0, **IMAGE_MINIMUM,
    }  # fmt: skip
    LISTS: ClassVar[tuple[str, ...]] = ("objectives", "where", "baselines")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_way(self.balance)
        if self.retrain not in RETRAIN_MODES:
            raise UnknownNameError("way to retrain", self.retrain, RETRAIN_MODES)
        if self.evidence not in EVIDENCE:
            raise UnknownNameError("evidence", self.evidence, EVIDENCE)
        if self.supernet not in SUPERNET_MODES:
            raise UnknownNameError("choice of a supernet", self.supernet, SUPERNET_MODES)
        require_mode(self.int8)
        if self.teacher:
            self._check_teacher()
        if self.start is not None:
            self._check_start(self.start)

    def _check_teacher(self) -> None:
        """Whether nothing contradicts a teacher."""
        others = {
            "no minutes": self.minutes is None,
            "evidence full, which trains controls as the model is trained": self.evidence == "full",
            f"start {self.start}": self.start is not None,
            "retrain none": self.retrain == "none",
            "balance weights": self.balance == "weights",
            "a cluster": on_cluster(),
        }
        if got := next((what for what, given in others.items() if given), ""):
            raise InputError(
                f"a teacher is for a search with minutes that trains its models by labels on one machine, got {got}"
            )

    def _check_start(self, start: str) -> None:
        """Whether a pretrained network is known, and nothing contradicts it."""
        if start not in PRETRAINED:
            raise UnknownNameError("pretrained network to start from", start, PRETRAINED)
        if self.supernet == "no":
            raise InputError("a search that starts from a pretrained network trains a supernet, got --supernet no")
        if self.retrain == "scratch":
            raise InputError("a search that starts from a pretrained network keeps its weights, got --retrain scratch")

    def check_texts(self) -> None:
        """The same, and the stabiliser."""
        super().check_texts()
        check_stabiliser(self.space, self.stabiliser)

    @property
    def models(self) -> int:
        """Models that are handed over at most."""
        if self.keep is not None:
            return self.keep
        return MAX_MODELS if self.minutes is None else min(MAX_MODELS, max(1, int(self.minutes / MINUTES_PER_MODEL)))
