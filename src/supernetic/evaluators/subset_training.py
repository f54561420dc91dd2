"""A rung as an evaluator: every architecture is trained on a small subset and scored by calibrated cross-entropy.

Paper: "Small Data, Big Decisions" (000): small subsets rank models as all the data do, if cross-entropy is calibrated.
Differences: scores are taken on the valid split, since they are to steer a search; the rung holds no test image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..datasets.dataset import Dataset
from ..errors import InputError
from ..networks.scores import full_names
from ..objective import Metrics
from ..selection.subsets import available_rows, take_subset
from ..space import Arch, Space
from ..training.recipe import Recipe
from .standalone import StandaloneEvaluator

ON = "valid"
SUBSET_TRAINING = f"{ON}/subset_training"


@dataclass(frozen=True, eq=False)
class SubsetTrainingEvaluator:
    """Means over seeds of `valid/calibrated_cross_entropy`, `valid/cross_entropy` (nats) and `valid/accuracy` (%).

    The rung has `size` images, of which one tenth calibrates; every seed, from `seed` on, draws another rung and other
    first weights.
    """

    space: Space
    dataset: Dataset
    recipe: Recipe
    size: int = 1000
    seeds: int = 1
    stratified: bool = False
    workers: int = 1
    seed: int = 0
    test: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InputError(f"a ladder needs a seed, got seeds={self.seeds}")
        available = len(available_rows(self.dataset, ON))
        if not 20 <= self.size <= available:
            raise InputError(f"a rung of {self.dataset.name} has 20 to {available} images, got {self.size}")

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those of the valid split, the calibrated cross-entropy first."""
        return tuple(sorted(full_names(ON), key=lambda name: not name.endswith("/calibrated_cross_entropy")))

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture; a training that diverges gives NaN."""
        found = [one(archs) for one in self._rungs]
        by_arch = zip(*found, strict=True)
        return [{k: float(np.mean([r[k] for r in records])) for k in self.metrics} for records in by_arch]

    @cached_property
    def _rungs(self) -> list[StandaloneEvaluator]:
        return [
            StandaloneEvaluator(
                self.space,
                take_subset(self.dataset, self.size, seed, ON, stratified=self.stratified),
                self.recipe,
                self.metrics,
                self.workers,
                seed,
            )
            for seed in range(self.seed, self.seed + self.seeds)
        ]


@dataclass(frozen=True, eq=False)
class SubsetTrainingScore:
    """The same calibrated cross-entropy as `valid/subset_training`, a name of its own beside scores of a supernet."""

    subsets: SubsetTrainingEvaluator
    metrics: tuple[str, ...] = (SUBSET_TRAINING,)
    test: frozenset[str] = frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture."""
        return [{SUBSET_TRAINING: m[self.subsets.metrics[0]]} for m in self.subsets(archs)]
