"""Stand-alone evaluation: every architecture is built, trained by the recipe, and validated.

Paper: none; it is how benchmarks such as NAS-Bench-201 are made, and what supernets are to save.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import nan

import torch
from torch import Tensor, nn

from ..datasets.augment import parse
from ..datasets.batches import Batches
from ..datasets.dataset import Dataset
from ..errors import InputError, SupernetError
from ..nn.network import Network, build
from ..objective import Metrics
from ..parallel.spread import Report, spread
from ..run import Run
from ..space import Arch, Space
from ..training.loop import Progress, fit, plan_for
from ..training.recipe import Recipe
from .scores import Logits, full_names, scores, splits_of

BATCH = 256  # images that are validated at a time
TASK = "network"  # its name in metrics.jsonl and among the checkpoints
RECORDS = 10  # times in a training that progress is recorded, at least


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
        return spread(self._work, checked, self.workers)

    def train(self, arch: Arch) -> Network:
        """The trained network."""
        network = build(self.space.blueprint(arch), seed=self.seed)
        for _ in training(network, network.blueprint.side, self.dataset, self.recipe, self.seed):
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
        return measure(network, network.blueprint.side, self.dataset, self.metrics)


def training(
    network: nn.Module, side: int, dataset: Dataset, recipe: Recipe, seed: int, run: Run | None = None
) -> Iterator[Progress]:
    """The steps of a network's training on images of a side; with a `run`, recorded and resumed there."""
    augment = parse(recipe.augment) if recipe.augment else None
    batches = Batches(dataset, "train", recipe.batch_size, seed, augment, side=side)
    steps = plan_for(network, batches, None, recipe).steps
    every = max(1, min(50, steps // RECORDS))
    checkpoint = min(1000, max(every, steps // RECORDS))
    return fit(network, batches, None, recipe, run, seed=seed, name=TASK, log_every=every, checkpoint_every=checkpoint)


def measure(network: nn.Module, side: int, dataset: Dataset, metrics: Sequence[str]) -> Metrics:
    """Metrics of a trained network, in evaluation mode; NaN if its logits are not finite."""
    splits = splits_of(metrics)
    logits = {split: logits_of(network, side, dataset, split) for split in splits}
    return scores(metrics, logits, {split: dataset.labels[dataset.splits[split]] for split in splits})


@torch.inference_mode()
def logits_of(network: nn.Module, side: int, dataset: Dataset, split: str) -> Logits:
    """Logits of a split's images, in the order of the images there."""
    found: list[Tensor] = [network(x) for x, _ in Batches(dataset, split, BATCH, side=side).evaluate()]
    logits: Logits = torch.cat(found).numpy()
    return logits


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, torch computes with one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
