"""What the steps of a comparison share: the data, how networks are trained, and where the supernet is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...evaluators import Evaluator
from ...runs.directory import Run
from ...space import Space
from .candidates import Candidate

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...networks.baselines import Baseline
    from ...supernets.supernet import Supernet
    from ...training.recipe import Recipe

COMPARE, TEST, JUDGE, EXPORT = "compare", "test", "judge", "export"  # names of the steps


@dataclass(frozen=True)
class Comparison:
    """Chosen networks and their controls, to be trained in the same way.

    Args:
        space: Of the finished networks.
        dataset: All images, at the networks' resolution.
        loading: Arguments of `datasets.load` that give the same data in a worker.
        recipe: Of finished networks.
        retrain: `scratch`, `inherit` (from the supernet's weights), `none`, or `check`: the supernet's weights are
            exported, and trainings from scratch serve the comparison.
        score: The metric by which networks were searched for.
        workers: Trainings at a time.
        seed: Of all randomness.
        supernet: The trained supernet of the run.
        scorer: The evaluator that the search used, for the run.
        candidates: The networks, and remarks on controls that are missing.
        baselines: The user's own networks by name.
        derives: Whether chosen networks are also tested with the supernet's own weights.
    """

    space: Space
    dataset: Dataset
    loading: Mapping[str, Any]
    recipe: Recipe
    retrain: str
    score: str
    workers: int
    seed: int
    supernet: Callable[[Run], Supernet]
    scorer: Callable[[Run], Evaluator]
    candidates: Callable[[Run], tuple[Sequence[Candidate], Sequence[str]]]
    baselines: Mapping[str, Baseline] = field(default_factory=dict)
    derives: bool = True

    @property
    def trains(self) -> bool:
        """Whether finished networks are trained."""
        return self.retrain != "none"

    @property
    def exports_supernet_weights(self) -> bool:
        """Whether the models have the supernet's own weights."""
        return self.retrain in ("none", "check")
