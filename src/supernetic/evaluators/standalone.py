"""Stand-alone evaluation: every architecture is built, trained by the recipe, and validated.

Paper: none; it is how benchmarks such as NAS-Bench-201 are made, and what supernets are to save.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from ..datasets.dataset import Dataset
from ..errors import InputError, SupernetError
from ..networks.scores import full_names
from ..networks.training import measure, one_thread, training
from ..nn.network import Network, build
from ..objective import Metrics
from ..parallel.workers import Report, map_in_workers
from ..space import Arch, Space
from ..training.recipe import Recipe


@dataclass(frozen=True, eq=False)
class StandaloneEvaluator:
    """Networks with weights of their own. An answer depends on the seed and the architecture only.

    Every training has one thread, so that numbers do not depend on how many run beside it. Several `workers` are
    that many processes.
    """

    space: Space
    dataset: Dataset
    recipe: Recipe
    metrics: tuple[str, ...] = full_names("valid")
    workers: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"stand-alone evaluation needs a worker, got {self.workers}")
        if self.recipe.sampler is not None:
            raise InputError("a stand-alone network has no paths to sample: the recipe must have no sampler")
        splits = {m.partition("/")[0] for m in self.metrics}
        for split in splits:
            full_names(split, [m for m in self.metrics if m.startswith(f"{split}/")])

    @property
    def test(self) -> frozenset[str]:
        """Metrics of the split `test`."""
        return frozenset(m for m in self.metrics if m.startswith("test/"))

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture; a training that diverges gives NaN."""
        checked = [self.space.check(a) for a in archs]
        return map_in_workers(self._work, checked, self.workers)

    def train(self, arch: Arch) -> Network:
        """The trained network."""
        network = build(self.space.blueprint(arch), seed=self.seed)
        for _ in training(network, network.blueprint.resolution, self.dataset, self.recipe, self.seed):
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
