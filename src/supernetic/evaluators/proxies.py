"""Zero-cost proxies as metrics of any space; more is better for each of them.

Papers: see the modules of `proxies`. One mini-batch and fresh weights for all of them is the setting of Abdelfattah et
al., "Zero-Cost Proxies for Lightweight NAS", arXiv 2101.08134.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan

from ..blueprint import Blueprint
from ..costs.live_layers import without_dead
from ..datasets.batches import Batch, Batches
from ..datasets.dataset import Dataset
from ..errors import InputError
from ..networks.training import one_thread
from ..objective import Metrics
from ..proxies import find_proxy, full_name
from ..proxies.probe import Probe
from ..space import Arch, Space


@dataclass(frozen=True, eq=False)
class ProxyEvaluator:
    """Scores networks that were not trained. An answer depends on the seed and the live part of the network only.

    All architectures see the same mini-batch of training images, and their weights are drawn from the same seed.

    Args:
        space: The space of the architectures.
        dataset: Its split `train` gives the images.
        proxies: Names of proxies, such as `jacov` or `layers`.
        images: Images of the mini-batch.
        seed: Seed of the images and of the weights.
        repeats: Mini-batches and weights that are averaged over.
        device: Where networks are built and run.
    """

    space: Space
    dataset: Dataset
    proxies: tuple[str, ...]
    images: int = 32
    seed: int = 0
    repeats: int = 1
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.images < 2:
            raise InputError(f"images of a proxy must be at least 2, got {self.images}")
        if self.repeats < 1:
            raise InputError(f"repeats of a proxy must be at least 1, got {self.repeats}")
        if not self.proxies:
            raise InputError("at least one proxy must be named, such as jacov or layers; got none")
        for name in self.proxies:
            find_proxy(name)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Full names of the proxies."""
        return tuple(map(full_name, self.proxies))

    @property
    def test(self) -> frozenset[str]:
        """No metric comes from test data: proxies see training images only."""
        return frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture.

        A value that is not finite becomes NaN, and such a network should be ranked last: it cannot tell images apart.
        """
        with one_thread():
            return [self._answer(without_dead(self.space.blueprint(self.space.check(arch)))) for arch in archs]

    def _answer(self, blueprint: Blueprint) -> Metrics:
        """What is known of the network, or measured now; networks that differ in dead layers only are one."""
        if blueprint not in self._known:
            self._known[blueprint] = self._scores(blueprint)
        return dict(self._known[blueprint])

    def _scores(self, blueprint: Blueprint) -> Metrics:
        scores: dict[str, list[float]] = {name: [] for name in self.metrics}
        for probe in self._probes(blueprint):
            for name, values in scores.items():
                values.append(find_proxy(name)(probe))
        means = {name: sum(values) / self.repeats for name, values in scores.items()}
        return {name: mean if isfinite(mean) else nan for name, mean in means.items()}

    def _probes(self, blueprint: Blueprint) -> Iterator[Probe]:
        if blueprint.in_channels != self.dataset.channels:
            raise InputError(
                f"{self.space.name} reads images of {blueprint.in_channels} channels, "
                f"those of {self.dataset.name} have {self.dataset.channels}"
            )
        if blueprint.classes < len(self.dataset.classes):
            raise InputError(
                f"{self.space.name} has {blueprint.classes} classes, {self.dataset.name} {len(self.dataset.classes)}"
            )
        for repeat in range(self.repeats):
            images, labels = self._batch(blueprint.resolution, repeat)
            yield Probe(blueprint, images, labels, seed=1_000 * self.seed + repeat)

    def _batch(self, resolution: int, repeat: int) -> Batch:
        if (resolution, repeat) not in self._batches:
            batches = Batches(self.dataset, "train", self.images, self.seed, device=self.device, resolution=resolution)
            self._batches[resolution, repeat] = batches.batch(repeat)
        return self._batches[resolution, repeat]

    @cached_property
    def _batches(self) -> dict[tuple[int, int], Batch]:
        """By resolution of the images and number of the repeat."""
        return {}

    @cached_property
    def _known(self) -> dict[Blueprint, Metrics]:
        """Answers so far."""
        return {}
