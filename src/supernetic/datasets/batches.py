"""Batches by number: step 1,000 is the same batch whether or not the 999 before it were made in this process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError, UnknownNameError
from .augment import Augment, as_floats, resize
from .dataset import SPLITS, Dataset, Indices

RESIDENT_BYTES = 2**31  # bytes of images that are kept on the device; more stay in the machine's memory
ORDER_STREAM, FIXED_STREAM, AUGMENT_STREAM = 1, 2, 3  # what a stream of random numbers is for, so that no two are alike

Batch = tuple[Tensor, Tensor]  # images N x C x resolution x resolution, normalised, channels last; labels


@dataclass(frozen=True)
class Batches:
    """The images of one split, on a device.

    `batch_size` counts the images of a step over all `world` processes; each takes its own part. An epoch is a
    permutation of the split without the last incomplete batch.
    """

    dataset: Dataset
    split: str = "train"
    batch_size: int = 128
    seed: int = 0
    augment: Augment | None = None
    device: torch.device | str = "cpu"
    resolution: int | None = None  # None: as the images are
    rank: int = 0
    world: int = 1
    _images: Tensor = field(init=False, repr=False, compare=False)
    _labels: Tensor = field(init=False, repr=False, compare=False)
    _order: dict[int, Indices] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise UnknownNameError("split", self.split, SPLITS)
        if not len(self.dataset.splits[self.split]):
            raise InputError(f"the split {self.split} of {self.dataset.name} is empty")
        if self.batch_size < 1 or self.batch_size % self.world:
            raise InputError(f"a batch must divide over {self.world} processes, got {self.batch_size} images")
        if self.world > len(self) and self.world > 1:
            raise InputError(f"{len(self)} images cannot be divided over {self.world} processes")
        images = torch.from_numpy(self.dataset.images)
        small = self.dataset.images.nbytes <= RESIDENT_BYTES
        object.__setattr__(self, "_images", images.to(self.device) if small else images)
        object.__setattr__(self, "_labels", torch.from_numpy(self.dataset.labels))

    def __len__(self) -> int:
        """Images in the split."""
        return len(self.dataset.splits[self.split])

    @property
    def steps_per_epoch(self) -> int:
        """Full batches in the split; at least one, which is then smaller."""
        return max(1, len(self) // self.batch_size)

    def batch(self, step: int) -> Batch:
        """The batch of a step, augmented; of several processes, each gets its own part.

        Args:
            step: counted from 0, over all epochs.

        Returns:
            Images and labels.
        """
        epoch, at = divmod(step, self.steps_per_epoch)
        size = min(self.batch_size, len(self) // self.world * self.world)
        share = size // self.world
        start = at * size + self.rank * share
        rows = self._epoch(epoch)[start : start + share]
        if self.augment is None:
            return self._plain(rows)
        state = np.random.SeedSequence([self.seed, step, self.rank, AUGMENT_STREAM]).generate_state(1, np.uint64)
        generator = torch.Generator().manual_seed(int(state[0] >> np.uint64(1)))
        x = self.augment(self._bytes(rows), self.resolution or self.dataset.resolution, generator)
        return self._normalise(x), self._labels[rows].to(self.device)

    def evaluate(self) -> Iterator[Batch]:
        """The whole split once, in a fixed order, without augmentation; each process its own part."""
        rows = self.dataset.splits[self.split][self.rank :: self.world]
        for start in range(0, len(rows), self.batch_size):
            yield self._plain(rows[start : start + self.batch_size])

    def fixed(self, n: int) -> Tensor:
        """The same training images at every call, without augmentation.

        Args:
            n: how many; all, if there are fewer.

        Returns:
            Images.
        """
        rows = self.dataset.splits["train"]
        chosen = np.random.default_rng([self.seed, 0, FIXED_STREAM]).permutation(rows)[:n]
        return self._plain(chosen)[0]

    def _epoch(self, epoch: int) -> Indices:
        if epoch not in self._order:
            self._order.clear()
            rng = np.random.default_rng([self.seed, epoch, ORDER_STREAM])
            self._order[epoch] = rng.permutation(self.dataset.splits[self.split])
        return self._order[epoch]

    def _plain(self, rows: Indices) -> Batch:
        x = resize(as_floats(self._bytes(rows)), self.resolution or self.dataset.resolution)
        return self._normalise(x), self._labels[rows].to(self.device)

    def _bytes(self, rows: Indices) -> Tensor:
        return self._images.index_select(0, torch.from_numpy(rows).to(self._images.device)).to(self.device)

    def _normalise(self, x: Tensor) -> Tensor:
        mean, std = (x.new_tensor(v).view(1, -1, 1, 1) for v in self.dataset.moments)
        # as large as an image: to repeat over the batch alone is five times as fast as to repeat over pixels
        scale, offset = (
            v.expand_as(x[:1]).contiguous(memory_format=torch.channels_last) for v in (1 / std, -mean / std)
        )
        return torch.addcmul(offset, x, scale).contiguous(memory_format=torch.channels_last)
