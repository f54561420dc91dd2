"""Training on small subsets: every architecture is trained on a few images and scored by calibrated cross-entropy.

Paper: "Small Data, Big Decisions": small subsets rank models as all the data do, if cross-entropy is calibrated.
Differences: networks are scored on the split `valid`, since the scores steer a search; no test image is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..datasets.dataset import Dataset
from ..errors import InputError
from ..hardware import CPU, Hardware
from ..networks.scores import full_names
from ..objective import Metrics
from ..selection.subsets import available_rows, take_subset
from ..space import Arch, Space
from ..training.recipe import Recipe
from .standalone import StandaloneEvaluator

SCORED_SPLIT = "valid"
SUBSET_TRAINING = f"{SCORED_SPLIT}/subset_training"


@dataclass(frozen=True, eq=False)
class SubsetTrainingEvaluator:
    """Means over seeds of `valid/calibrated_cross_entropy`, `valid/cross_entropy` (nats) and `valid/accuracy` (%).

    Every seed draws another subset and other initial weights.

    Args:
        space: The space of the architectures.
        dataset: The data that subsets are taken from.
        recipe: Training settings, without a sampler.
        size: Images of a subset, of which one tenth calibrates.
        seeds: Trainings of each architecture.
        stratified: Whether subsets have all classes in proportion.
        workers: Processes that train at the same time.
        seed: The first seed.
        hardware: Where networks are trained and scored.
    """

    space: Space
    dataset: Dataset
    recipe: Recipe
    size: int = 1000
    seeds: int = 1
    stratified: bool = False
    workers: int = 1
    seed: int = 0
    hardware: Hardware = CPU
    test: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InputError(f"seeds must be at least 1, got {self.seeds}")
        available = len(available_rows(self.dataset, SCORED_SPLIT))
        if not 20 <= self.size <= available:
            raise InputError(f"a subset of {self.dataset.name} must have 20 to {available} images, got {self.size}")

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the split `valid`, calibrated cross-entropy first."""
        return tuple(sorted(full_names(SCORED_SPLIT), key=lambda name: not name.endswith("/calibrated_cross_entropy")))

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture; a training that diverges gives NaN."""
        by_seed = [evaluate(archs) for evaluate in self._evaluators]
        by_arch = zip(*by_seed, strict=True)
        return [{k: float(np.mean([r[k] for r in records])) for k in self.metrics} for records in by_arch]

    @cached_property
    def _evaluators(self) -> list[StandaloneEvaluator]:
        return [
            StandaloneEvaluator(
                self.space,
                take_subset(self.dataset, self.size, seed, SCORED_SPLIT, stratified=self.stratified),
                self.recipe,
                self.metrics,
                self.workers,
                seed,
                self.hardware,
            )
            for seed in range(self.seed, self.seed + self.seeds)
        ]


@dataclass(frozen=True, eq=False)
class SubsetTrainingScore:
    """Calibrated cross-entropy under a name of its own, so that it does not collide with the score of a supernet."""

    subsets: SubsetTrainingEvaluator
    metrics: tuple[str, ...] = (SUBSET_TRAINING,)
    test: frozenset[str] = frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture."""
        return [{SUBSET_TRAINING: m[self.subsets.metrics[0]]} for m in self.subsets(archs)]
