"""Batches by number: step 1,000 is the same batch whether or not the 999 before it were made in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError, UnknownNameError
from .augment import Augment, as_floats, resize
from .balance import balanced_order, class_weights
from .dataset import SPLITS, Dataset, Indices, Labels, stored_images
from .stream import ReadAhead, read_parts, read_rows

RESIDENT_BYTES = 2**31  # bytes of images that are kept on the device; more stay in the machine's memory
ORDER_STREAM, FIXED_STREAM, AUGMENT_STREAM = 1, 2, 3  # what a stream of random numbers is for, so that no two are alike

Batch = tuple[Tensor, Tensor]  # images N x C x resolution x resolution, normalised, channels last; labels


class StepRows:
    """The rows of every step, for one of `world` processes. An epoch's order follows from the seed and its number.

    Args:
        rows: of the split.
        batch_size: images of a step, over all processes.
        seed: of the order.
        rank: which process this is.
        world: how many there are.
        labels: the class of each row; with them, an epoch has equally many images of every class.
    """

    def __init__(
        self, rows: Indices, batch_size: int, seed: int, rank: int = 0, world: int = 1, labels: Labels | None = None
    ) -> None:
        self.rows, self.seed, self.rank, self.world, self.labels = rows, seed, rank, world, labels
        self.size = min(batch_size, len(rows) // world * world)
        self.steps_per_epoch = max(1, len(rows) // batch_size)
        self._orders: dict[int, Indices] = {}

    def __call__(self, step: int) -> Indices:
        """Rows that are this process's part of a step; steps are counted from 0 over all epochs."""
        epoch, at = divmod(step, self.steps_per_epoch)
        share = self.size // self.world
        start = at * self.size + self.rank * share
        return self._order(epoch)[start : start + share]

    def _order(self, epoch: int) -> Indices:
        """Of an epoch; two are kept, because reading ahead goes back and forth between them where they meet."""
        if epoch not in self._orders:
            while len(self._orders) > 1:
                del self._orders[next(iter(self._orders))]
            rng = np.random.default_rng([self.seed, epoch, ORDER_STREAM])
            rows, labels = self.rows, self.labels
            self._orders[epoch] = rng.permutation(rows) if labels is None else balanced_order(rows, labels, rng)
        return self._orders[epoch]


@dataclass(frozen=True)
class Batches:
    """The images of one split, on a device.

    `batch_size` counts the images of a step over all `world` processes; each takes its own part. An epoch is a
    permutation of the split without the last incomplete batch. Images that are not in memory are read by other
    processes, those of consecutive steps ahead of time. If `balanced`, an epoch is as long, but has equally many images
    of every class: those of small classes come several times.
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
    balanced: bool = False
    _images: Tensor | None = field(init=False, repr=False, compare=False)  # None: they are not in memory
    _ahead: ReadAhead | None = field(init=False, repr=False, compare=False)
    _labels: Tensor = field(init=False, repr=False, compare=False)
    _rows: StepRows = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise UnknownNameError("split", self.split, SPLITS)
        if not len(self.dataset.splits[self.split]):
            raise InputError(f"the split {self.split} of {self.dataset.name} is empty")
        if self.batch_size < 1 or self.batch_size % self.world:
            raise InputError(f"a batch must divide over {self.world} processes, got {self.batch_size} images")
        if self.world > len(self) and self.world > 1:
            raise InputError(f"{len(self)} images cannot be divided over {self.world} processes")
        split = self.dataset.splits[self.split]
        labels = self.dataset.labels[split] if self.balanced else None
        rows = StepRows(split, self.batch_size, self.seed, self.rank, self.world, labels)
        images, ahead = None, None
        if (stored := stored_images(self.dataset.images)) is not None:
            ahead = ReadAhead(stored, rows)
        else:
            images = torch.from_numpy(self.dataset.images)
            images = images.to(self.device) if self.dataset.images.nbytes <= RESIDENT_BYTES else images
        object.__setattr__(self, "_images", images)
        object.__setattr__(self, "_ahead", ahead)
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "_labels", torch.from_numpy(self.dataset.labels))

    def __len__(self) -> int:
        """Images in the split."""
        return len(self.dataset.splits[self.split])

    @property
    def steps_per_epoch(self) -> int:
        """Full batches in the split; at least one, which is then smaller."""
        return self._rows.steps_per_epoch

    def batch(self, step: int) -> Batch:
        """The batch of a step, augmented; of several processes, each gets its own part.

        Args:
            step: counted from 0, over all epochs.

        Returns:
            Images and labels.
        """
        rows = self._rows(step)
        images = self._bytes(rows) if self._ahead is None else self._ahead.read(step).to(self.device)
        if self.augment is None:
            return self._plain(images, rows)
        state = np.random.SeedSequence([self.seed, step, self.rank, AUGMENT_STREAM]).generate_state(1, np.uint64)
        generator = torch.Generator().manual_seed(int(state[0] >> np.uint64(1)))
        x = self.augment(images, self.resolution or self.dataset.resolution, generator)
        return self._normalise(x), self._labels[rows].to(self.device)

    def rows(self, step: int) -> Indices:
        """The rows of the data set that a step's batch consists of, in its order."""
        return self._rows(step)

    def evaluate(self) -> Iterator[Batch]:
        """The whole split once, in a fixed order, without augmentation; each process its own part."""
        rows = self.dataset.splits[self.split][self.rank :: self.world]
        parts = [rows[start : start + self.batch_size] for start in range(0, len(rows), self.batch_size)]
        for part, images in zip(parts, self._in_turn(parts), strict=True):
            yield self._plain(images, part)

    def at(self, rows: Indices) -> Batch:
        """Some images of the data set, of any split, without augmentation.

        Args:
            rows: which of them.

        Returns:
            Images and labels.
        """
        return self._plain(self._bytes(rows), rows)

    @property
    def class_weights(self) -> Tensor:
        """What each class counts in a loss, so that all classes count alike; the mean over the images is 1."""
        labels = self.dataset.labels[self.dataset.splits[self.split]]
        weights = torch.from_numpy(class_weights(labels, len(self.dataset.classes)))
        return weights.float().to(self.device)

    def fixed(self, n: int) -> Tensor:
        """The same training images at every call, without augmentation.

        Args:
            n: how many; all, if there are fewer.

        Returns:
            Images.
        """
        rows = self.dataset.splits["train"]
        chosen = np.random.default_rng([self.seed, 0, FIXED_STREAM]).permutation(rows)[:n]
        return self._plain(self._bytes(chosen), chosen)[0]

    def _plain(self, images: Tensor, rows: Indices) -> Batch:
        x = resize(as_floats(images), self.resolution or self.dataset.resolution)
        return self._normalise(x), self._labels[rows].to(self.device)

    def _bytes(self, rows: Indices) -> Tensor:
        if self._images is None:
            assert self._ahead is not None
            return read_rows(self._ahead.images, rows).to(self.device)
        return self._images.index_select(0, torch.from_numpy(rows).to(self._images.device)).to(self.device)

    def _in_turn(self, parts: Sequence[Indices]) -> Iterator[Tensor]:
        """The bytes of each part; those that are not in memory are read ahead, if that is worth starting processes."""
        if self._ahead is not None and len(parts) > 1:
            return (images.to(self.device) for images in read_parts(self._ahead.images, parts))
        return (self._bytes(rows) for rows in parts)

    def _normalise(self, x: Tensor) -> Tensor:
        mean, std = (x.new_tensor(v).view(1, -1, 1, 1) for v in self.dataset.moments)
        # as large as an image: to repeat over the batch alone is five times as fast as to repeat over pixels
        scale, offset = (
            v.expand_as(x[:1]).contiguous(memory_format=torch.channels_last) for v in (1 / std, -mean / std)
        )
        return torch.addcmul(offset, x, scale, out=x).contiguous(memory_format=torch.channels_last)  # x is ours alone
