"""How a search on images scores architectures: by the supernet, and by zero-cost proxies.

Where weights are shared by choice, the score is the joint rank by `PROXIES` (docs/ranking.md says why these); where
they are shared elastically, it is the supernet's cross-entropy. Without a supernet it is the joint rank by the proxies
that need none. With `min subset_training`, every architecture is trained on a small subset instead (docs/select.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluators import CombinedEvaluator, CostEvaluator, Evaluator
from ...hardware import CPU, Hardware
from ...proxies import PREFIX, full_name
from ...ranking.combine import AZ_RANK
from ...ranking.ensemble import RANK, RankEnsemble
from ...runs.directory import Run
from ...runs.files import ENSEMBLE, LATENCY
from ...runs.records import read_json
from ...space import Arch, Space
from ..compare.comparison import RECALIBRATION_IMAGES
from ..glance import Part

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...supernets.supernet import Supernet
    from ...timing.lookup import LatencyTable

SCORE, ACCURACY = "valid/cross_entropy", "valid/accuracy"
PROXIES = (SCORE, *map(full_name, ("live_macs", "layers", "jacov", "trainability")))
COMBINED_BY = AZ_RANK
COSTS = ("cost/macs", "cost/params")
MILLISECONDS = "latency/ms"
SUBSET_TRAINING = "valid/subset_training"
MAX_SCORING_IMAGES = 2000  # of the validation split
MAX_REFERENCES = 100  # networks among which the ensemble ranks others
GLANCE_IMAGES = 64  # of each split that a supernet sees in a dry run
PROXY_IMAGES = 32  # training images that zero-cost proxies see, as when they were chosen
MAX_SUBSET_IMAGES = 1000  # of a training on a subset
SCORING_STREAM, REFERENCE_STREAM = 12, 13  # of random numbers


@dataclass(frozen=True)
class Scoring:
    """Which metrics a search needs, and how they are measured.

    Args:
        space: Of finished networks.
        dataset: All images.
        metrics: Those that objectives and limits name.
        seed: Of all randomness.
        latency: How milliseconds are measured; empty if they are not needed.
        own: The user's own evaluator.
        supernet: Whether there is a supernet to ask.
        hardware: Where networks without a supernet are scored.
        voters: What the rank ensemble is made of, where a run has decided that already; else `PROXIES`.
        images: Training images that give a network of the supernet its BN statistics.
    """

    space: Space
    dataset: Dataset
    metrics: tuple[str, ...]
    seed: int
    latency: Mapping[str, Any]
    own: Evaluator | None = None
    supernet: bool = True
    hardware: Hardware = CPU
    voters: tuple[str, ...] = ()
    images: int = RECALIBRATION_IMAGES

    @property
    def proxies(self) -> tuple[str, ...]:
        """What the rank ensemble is made of."""
        return self.voters or (PROXIES if self.supernet else tuple(name for name in PROXIES if name != SCORE))

    @property
    def needed(self) -> tuple[str, ...]:
        """The metrics, and those that the rank ensemble is made of."""
        return tuple(dict.fromkeys([*self.metrics, *(self.proxies if RANK in self.metrics else ())]))

    def of_run(self, run: Run, supernet: Supernet | None, evaluations: int) -> Evaluator:
        """The evaluator of a run; its rank ensemble and its latencies are measured once.

        Args:
            run: Keeps both.
            supernet: Trained; None if there is none.
            evaluations: That the search plans; the ensemble ranks among no more networks than these.
        """
        from ...evaluators.on_cluster import on_workers

        if RANK not in self.needed:
            return on_workers(self.evaluator(supernet, self.latency_table(run)))
        from ...evaluators.ensemble import EnsembleEvaluator

        if not (run.path / ENSEMBLE).exists():
            evaluate = on_workers(self.evaluator(supernet, self.latency_table(run)))
            self._measure_references(run, evaluate, evaluations)
        ensemble = RankEnsemble.from_json(read_json(run.path / ENSEMBLE))
        kept = replace(self, voters=tuple(ensemble.answers))  # of a run that an earlier version began, perhaps others
        return EnsembleEvaluator(on_workers(kept.evaluator(supernet, kept.latency_table(run))), ensemble)

    def evaluator(self, supernet: Supernet | None, table: LatencyTable | None = None) -> Evaluator:
        """Costs, the supernet's scores, proxies, and latencies from the table; no rank yet."""
        from ...evaluators.supernet import SupernetEvaluator

        own = () if self.own is None else self.own.metrics
        needed = [n for n in self.needed if n not in own]
        costs = dict.fromkeys([*COSTS, *(n for n in needed if n.startswith("cost/"))])
        proxies = tuple(n for n in needed if n.startswith(PREFIX) and n != RANK)
        parts: list[Evaluator] = [CostEvaluator(self.space, tuple(costs))]
        if supernet is not None:
            images = scoring_images(self.dataset, self.seed)
            parts.append(SupernetEvaluator(supernet, images, self._of_supernet, images=self.images, seed=self.seed))
        if proxies:
            from ...evaluators.proxies import ProxyEvaluator

            device = self.hardware.device
            parts.append(
                ProxyEvaluator(self.space, self.dataset, proxies, images=PROXY_IMAGES, seed=self.seed, device=device)
            )
        if SUBSET_TRAINING in needed:
            parts.append(self._subset_training())
        if table is not None:
            from ...evaluators.latency import LatencyEvaluator

            parts.append(LatencyEvaluator(self.space, table))
        return CombinedEvaluator((*parts, *(() if self.own is None else (self.own,))))

    @property
    def _of_supernet(self) -> tuple[str, ...]:
        """Metrics that a supernet gives."""
        own = () if self.own is None else self.own.metrics
        valid = [n for n in self.needed if n.startswith("valid/") and n not in (SUBSET_TRAINING, *own)]
        return tuple(dict.fromkeys([SCORE, ACCURACY, *valid]))

    def parts_at_a_glance(self, supernet: Supernet | None) -> list[Part]:
        """What `evaluator` consists of, for a dry run: the supernet sees few images, and counts for more."""
        parts = [Part(self.evaluator(None))]
        if supernet is not None:
            from ...evaluators.supernet import SupernetEvaluator

            few = scoring_images(self.dataset, self.seed, GLANCE_IMAGES)
            train, valid = (len(self.dataset.splits[split]) for split in ("train", "valid"))
            of_a_run = min(self.images, train) + min(MAX_SCORING_IMAGES, valid)
            images = min(GLANCE_IMAGES, train) + min(GLANCE_IMAGES, valid)
            evaluate = SupernetEvaluator(supernet, few, self._of_supernet, images=GLANCE_IMAGES, seed=self.seed)
            parts.append(Part(evaluate, of_a_run / images))
        return parts

    def latency_table(self, run: Run) -> LatencyTable | None:
        """Measured once on this machine, then read from the run; None if nobody asks."""
        if not self.latency:
            return None
        from ...timing.lookup import LatencyTable, measure_table

        records = run.read(LATENCY)
        if not records:
            records = measure_table(self.space, **self.latency).to_records()
            run.write(LATENCY, "".join(json.dumps(r) + "\n" for r in records))
        return LatencyTable.from_records(records)

    def _subset_training(self) -> Evaluator:
        from ...evaluators.subset_training import SCORED_SPLIT, SubsetTrainingEvaluator, SubsetTrainingScore
        from ...selection.subsets import available_rows
        from ..select.trainings import RECIPE, recipe_for

        size = min(MAX_SUBSET_IMAGES, len(available_rows(self.dataset, SCORED_SPLIT)))
        recipe = recipe_for(RECIPE, size)
        return SubsetTrainingScore(
            SubsetTrainingEvaluator(self.space, self.dataset, recipe, size, seed=self.seed, hardware=self.hardware)
        )

    def _measure_references(self, run: Run, evaluate: Evaluator, evaluations: int) -> None:
        """What the proxies say of random networks, measured once."""
        rng = np.random.default_rng([self.seed, REFERENCE_STREAM])
        drawn = self.space.sample(rng, min(MAX_REFERENCES, evaluations)).tolist()
        archs: list[Arch] = list(dict.fromkeys(self.space.canonical(tuple(a)) for a in drawn))
        ensemble = RankEnsemble.of(self.proxies, evaluate(archs), COMBINED_BY)
        run.write(ENSEMBLE, json.dumps(ensemble.to_json()) + "\n")


def scoring_images(dataset: Dataset, seed: int, most: int = MAX_SCORING_IMAGES) -> Dataset:
    """The same data with fewer validation images; the others are put aside with those for calibration.

    Args:
        dataset: All images.
        seed: Of the draw.
        most: The largest number of validation images.

    Returns:
        The data.
    """
    valid = dataset.splits["valid"]
    if len(valid) <= most:
        return dataset
    order = np.random.default_rng([seed, SCORING_STREAM]).permutation(valid)
    spare = np.concatenate([dataset.splits["calibrate"], order[most:]])
    return replace(dataset, splits={**dataset.splits, "valid": np.sort(order[:most]), "calibrate": spare})
