"""Stand-alone evaluation: every architecture is built, trained by a recipe, and validated.

Paper: none; benchmarks such as NAS-Bench-201 are made like this, and supernets are meant to save this cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from ..datasets.dataset import Dataset
from ..errors import InputError, SupernetError
from ..hardware import CPU, Hardware
from ..networks.scores import full_names
from ..networks.training import measure, one_thread, training
from ..nn.network import Network, build
from ..objective import Metrics
from ..parallel.workers import Report, map_in_workers
from ..space import Arch, Space
from ..training.recipe import Recipe


@dataclass(frozen=True, eq=False)
class StandaloneEvaluator:
    """Trains every architecture from scratch. An answer depends on the seed and the architecture only.

    Every training has one thread, so that results do not depend on how many run at the same time.

    Args:
        space: The space of the architectures.
        dataset: Trained on its split `train`, scored on the splits that the metrics name.
        recipe: Training settings, without a sampler.
        metrics: Full names, such as `valid/accuracy`.
        workers: Processes that train at the same time.
        seed: Seed of the weights and of the batches.
        hardware: Where networks are trained and scored.
    """

    space: Space
    dataset: Dataset
    recipe: Recipe
    metrics: tuple[str, ...] = full_names("valid")
    workers: int = 1
    seed: int = 0
    hardware: Hardware = CPU

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"workers must be at least 1, got {self.workers}")
        if self.recipe.sampler is not None:
            raise InputError(f"the recipe of a stand-alone network must have no sampler, got {self.recipe.sampler}")
        splits = {m.partition("/")[0] for m in self.metrics}
        for split in splits:
            full_names(split, [m for m in self.metrics if m.startswith(f"{split}/")])

    @property
    def test(self) -> frozenset[str]:
        """The metrics of the split `test`."""
        return frozenset(m for m in self.metrics if m.startswith("test/"))

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture; a training that diverges gives NaN."""
        checked = [self.space.check(a) for a in archs]
        return map_in_workers(self._work, checked, self.workers, environments=self.hardware.environments())

    def train(self, arch: Arch) -> Network:
        """Train one network.

        Args:
            arch: Its architecture.

        Returns:
            The trained network.
        """
        network = build(self.space.blueprint(arch), seed=self.seed)
        resolution, hardware = network.blueprint.resolution, self.hardware.of_networks
        for _ in training(network, resolution, self.dataset, self.recipe, self.seed, None, hardware):
            pass
        return network

    def _work(self, arch: Arch, _: Report) -> Metrics:
        with one_thread():
            return self._measure(arch)

    def _measure(self, arch: Arch) -> Metrics:
        try:
            network = self.train(arch).eval()
        except InputError:
            raise
        except SupernetError:  # diverged
            return dict.fromkeys(self.metrics, nan)
        return measure(network, network.blueprint.resolution, self.dataset, self.metrics)
