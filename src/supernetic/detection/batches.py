"""Images and boxes as a detector trains on them: batches by step number, the same number always the same batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from .annotations import Annotated

Targets = list[dict[str, Tensor]]


def as_tensor(image: Image.Image, longer_side: int) -> Tensor:
    """An image as the detector sees it: 3 x H x W in 0..1, resized so that its longer side has so many pixels."""
    scale = longer_side / max(image.size)
    size = tuple(max(1, round(side * scale)) for side in image.size)
    if size != image.size:
        image = image.resize((size[0], size[1]), Image.Resampling.BILINEAR)
    pixels = torch.from_numpy(np.array(image.convert("RGB"), dtype=np.uint8))
    return pixels.permute(2, 0, 1).float().div_(255)


@dataclass(frozen=True, eq=False)
class DetectionBatches:
    """Training images in an order drawn anew for every epoch, half of them mirrored.

    Args:
        items: The images.
        batch_size: Images per step.
        longer_side: Pixels that images are resized to.
        seed: Of the order and the mirroring.
        flip: Whether images may be mirrored.
    """

    items: Sequence[Annotated]
    batch_size: int
    longer_side: int
    seed: int = 0
    flip: bool = True

    @property
    def steps_per_epoch(self) -> int:
        """Batches per epoch, the last of which may be filled up from the next epoch."""
        return ceil(len(self.items) / self.batch_size)

    def batch(self, step: int) -> tuple[list[Tensor], Targets]:
        """Images, and their boxes and labels."""
        rng = np.random.default_rng([self.seed, step, 1])
        images, targets = [], []
        for place in range(step * self.batch_size, (step + 1) * self.batch_size):
            image, target = self._example(self._row(place), self.flip and bool(rng.random() < 0.5))
            images.append(image)
            targets.append(target)
        return images, targets

    def _row(self, place: int) -> int:
        epoch, at = divmod(place, len(self.items))
        return int(np.random.default_rng([self.seed, epoch, 0]).permutation(len(self.items))[at])

    def _example(self, row: int, mirrored: bool) -> tuple[Tensor, dict[str, Tensor]]:
        item = self.items[row]
        image = as_tensor(item.image(), self.longer_side)
        used = ~item.ignored
        boxes = torch.from_numpy(item.boxes[used])
        height, width = image.shape[1:]
        boxes = boxes * torch.tensor([width / item.width, height / item.height] * 2)
        if mirrored:
            image = image.flip(2)
            boxes = torch.stack([width - boxes[:, 2], boxes[:, 1], width - boxes[:, 0], boxes[:, 3]], 1)
        return image, {"boxes": boxes, "labels": torch.from_numpy(item.labels[used])}
