"""What the steps of a comparison share: the data, how networks are trained, and where the supernet is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...blueprint import Blueprint
from ...evaluators import Evaluator
from ...hardware import CPU, Hardware
from ...parallel.world import world_size
from ...runs.directory import Run
from ...space import Space
from ..time_plan import rescale_recipe
from .candidates import Candidate

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...networks.baselines import Baseline
    from ...networks.pool import Training
    from ...supernets.supernet import Supernet
    from ...training.recipe import Recipe
    from ...training.schedule import Plan as Schedule

WHOLE = (0.0, 1.0)  # of a schedule
ACCURACY = "valid/accuracy"  # what decides between networks, unless an objective says otherwise
COMPARE, QUANTISE, TEST = "compare", "quantise", "test"  # names of the steps
JUDGE, EXPORT = "judge", "export"
RECALIBRATION_IMAGES = 1024  # that give a network of the supernet its BN statistics


@dataclass(frozen=True, kw_only=True)
class NetworkTrainings:
    """How finished networks are trained.

    Args:
        dataset: All images, at the networks' resolution.
        loading: Arguments of `datasets.load` that give the same data in a worker.
        recipe: Of finished networks.
        seed: Of all randomness.
        hardware: Where finished networks are trained and tested.
        decides: The metric of the validation images by which networks are compared, in percent.
        int8: Whether the models are quantised too.
    """

    dataset: Dataset
    loading: Mapping[str, Any]
    recipe: Recipe
    seed: int
    hardware: Hardware = CPU
    decides: str = ACCURACY
    int8: bool = True

    def training(
        self,
        network: Blueprint | Baseline,
        steps: int | None = None,
        start: Path | None = None,
        processes: int = 1,
        part: tuple[float, float] = WHOLE,
        earlier: int = 0,
        targets: Path | None = None,
    ) -> Training:
        """The training of a network.

        Args:
            network: What is trained.
            steps: How long; None: as the recipe says.
            start: Weights to start from; None: from scratch.
            processes: That train it together; by default all those of a launcher such as `torchrun`, or one.
            part: Which part of a linear schedule these steps are, from 0 to 1: the learning rate goes on falling from
                one part to the next.
            earlier: Trainings of the network before this one. Each has batches and augmented images of its own.
            targets: What a teacher says of the training images, as `networks.taught` keeps it. Its answers are smooth,
                so labels are not smoothed as well.
        """
        from ...networks.pool import Training

        processes = world_size() if processes == 1 else processes
        recipe = self.recipe if steps is None else rescale_recipe(self.recipe, self.schedule, steps)
        if part != WHOLE:
            first, last = (recipe.lr + (recipe.lr_end - recipe.lr) * at for at in part)
            warmup = "0 steps" if part[0] else recipe.warmup
            recipe = replace(recipe, lr=first, lr_end=last, warmup=warmup)
        if targets is not None:
            recipe = replace(recipe, label_smoothing=0.0)
        seed = int(np.random.SeedSequence([self.seed, earlier]).generate_state(1)[0]) if earlier else self.seed
        return Training(
            network, recipe, seed, self.loading, start, self.dataset.fingerprint, processes,
            self.hardware.device, self.hardware.precision, targets=targets,
        )  # fmt: skip

    @property
    def schedule(self) -> Schedule:
        """The recipe's own length."""
        from ...training.schedule import plan_of

        return plan_of(self.recipe, max(1, len(self.dataset.splits["train"]) // self.recipe.batch_size))


@dataclass(frozen=True, kw_only=True)
class Comparison(NetworkTrainings):
    """Chosen networks and their controls, to be trained in the same way.

    Args:
        space: Of the finished networks.
        retrain: `scratch`, `inherit` (from the supernet's weights), `none`, or `check`: the supernet's weights are
            exported, and trainings from scratch serve the comparison.
        score: The metric by which networks were searched for.
        workers: Trainings at a time.
        supernet: The trained supernet of the run; None if there is none.
        scorer: The evaluator that the search used, for the run.
        candidates: The networks, and remarks on controls that are missing.
        baselines: The user's own networks by name.
        derives: Whether chosen networks are also tested with the supernet's own weights.
        lengths: Steps of each network's training by name, for the run; None: the recipe's own length for all.
        compares_finished: Whether the recommended model and its controls were all trained to the end, so that they are
            compared after all of their training and not after the first round.
        recalibration_images: Training images that give chosen networks their BN statistics.
    """

    space: Space
    retrain: str
    score: str
    workers: int
    supernet: Callable[[Run], Supernet] | None
    scorer: Callable[[Run], Evaluator]
    candidates: Callable[[Run], tuple[Sequence[Candidate], Sequence[str]]]
    baselines: Mapping[str, Baseline] = field(default_factory=dict)
    derives: bool = True
    lengths: Callable[[Run, Sequence[Candidate]], Mapping[str, int]] | None = None
    compares_finished: bool = False
    recalibration_images: int = RECALIBRATION_IMAGES

    @property
    def trains(self) -> bool:
        """Whether finished networks are trained."""
        return self.retrain != "none"

    @property
    def exports_supernet_weights(self) -> bool:
        """Whether the models have the supernet's own weights."""
        return self.retrain in ("none", "check")
