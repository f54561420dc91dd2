"""Training-free votes as metrics of any space: `proxy/jacov`, `proxy/naswot`, `proxy/layers`, ...; more is better.

Papers: see the voters. What they have in common, one mini-batch and fresh weights, is Abdelfattah et al.'s, arXiv
2101.08134.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan

from ..datasets.batches import Batch, Batches
from ..datasets.dataset import Dataset
from ..errors import InputError
from ..networks.training import one_thread
from ..objective import Metrics
from ..proxies import full_name, voter
from ..proxies.probe import Probe
from ..space import Arch, Space


@dataclass(frozen=True, eq=False)
class ProxyEvaluator:
    """What voters say of networks that nobody trained. An answer depends on the seed and the architecture only.

    All architectures see the same mini-batch of `images` training images, and their weights are drawn from the same
    seed. With `repeats`, votes are means over so many mini-batches and weights.
    """

    space: Space
    dataset: Dataset
    votes: tuple[str, ...]
    images: int = 32
    seed: int = 0
    repeats: int = 1

    def __post_init__(self) -> None:
        if self.images < 2 or self.repeats < 1:
            raise InputError(f"votes need two images and one repeat, got {self.images} and {self.repeats}")
        if not self.votes:
            raise InputError("say which votes, such as jacov or layers; got none")
        for name in self.votes:
            voter(name)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Full names of the votes."""
        return tuple(map(full_name, self.votes))

    @property
    def test(self) -> frozenset[str]:
        """None: votes see training images only."""
        return frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture.

        A vote is NaN where it is not finite, which is to be ranked last: such a network tells no two images apart.
        """
        with one_thread():
            return [self._ask(self.space.check(arch)) for arch in archs]

    def _ask(self, arch: Arch) -> Metrics:
        found: dict[str, list[float]] = {name: [] for name in self.metrics}
        for probe in self._probes(arch):
            for name, values in found.items():
                values.append(voter(name)(probe))
        means = {name: sum(values) / self.repeats for name, values in found.items()}
        return {name: mean if isfinite(mean) else nan for name, mean in means.items()}

    def _probes(self, arch: Arch) -> Iterator[Probe]:
        blueprint = self.space.blueprint(arch)
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
            batches = Batches(self.dataset, "train", self.images, self.seed, resolution=resolution)
            self._batches[resolution, repeat] = batches.batch(repeat)
        return self._batches[resolution, repeat]

    @cached_property
    def _batches(self) -> dict[tuple[int, int], Batch]:
        """By side of the images and repeat."""
        return {}
