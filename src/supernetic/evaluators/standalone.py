"""Stand-alone evaluation: every architecture is built, trained by the recipe, and validated.

Paper: none; it is how benchmarks such as NAS-Bench-201 are made, and what supernets are to save.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import nan
from multiprocessing import get_context

import torch

from ..datasets.augment import parse
from ..datasets.batches import Batches
from ..datasets.dataset import Dataset
from ..errors import InputError, SupernetError
from ..nn.network import Network, build
from ..objective import Metrics
from ..space import Arch, Space
from ..training.loop import fit
from ..training.recipe import Recipe
from .scores import full_names, scores, splits_of

BATCH = 256  # images that are validated at a time


@dataclass(frozen=True, eq=False)
class StandaloneEvaluator:
    """Networks with weights of their own. An answer depends on the seed and the architecture only.

    Every training has one thread, so that numbers do not depend on how many run beside it. With several `workers` the
    architectures are dealt to that many processes; a script that does so needs `if __name__ == "__main__":`.
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
        workers = min(self.workers, len(checked))
        if workers < 2:
            with one_thread():
                return [self._measure(a) for a in checked]
        alone = replace(self, workers=1)
        hands = [checked[i::workers] for i in range(workers)]
        answers: list[Metrics] = [{}] * len(checked)
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for i, found in enumerate(pool.map(alone, hands)):
                answers[i::workers] = found
        return answers

    def train(self, arch: Arch) -> Network:
        """The trained network."""
        network = build(self.space.blueprint(arch), seed=self.seed)
        augment = parse(self.recipe.augment) if self.recipe.augment else None
        side = network.blueprint.side
        batches = Batches(self.dataset, "train", self.recipe.batch_size, self.seed, augment, side=side)
        for _ in fit(network, batches, None, self.recipe, seed=self.seed):
            pass
        return network

    def _measure(self, arch: Arch) -> Metrics:
        try:
            network = self.train(arch).eval()
        except InputError:
            raise
        except SupernetError:  # diverged
            return dict.fromkeys(self.metrics, nan)
        logits, labels = {}, {}
        for split in splits_of(self.metrics):
            batches = Batches(self.dataset, split, BATCH, self.seed, side=network.blueprint.side)
            with torch.inference_mode():
                logits[split] = torch.cat([network(x) for x, _ in batches.evaluate()]).numpy()
            labels[split] = self.dataset.labels[self.dataset.splits[split]]
        return scores(self.metrics, logits, labels)


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, torch computes with one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
