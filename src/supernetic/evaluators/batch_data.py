"""Images that a caller brings as batches of tensors, for `SupernetEvaluator`: a list, a DataLoader, any re-iterable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ..derivation.recalibrate import even
from ..errors import InputError
from ..networks.scores import Labels
from ..supernets.supernet import Supernet
from ..training.step import Batch, check_batch

Loader = Iterable[Sequence[Tensor]]  # of (images, labels), the same at every iteration


@dataclass(frozen=True)
class LoaderSplit:
    """One split of the images. It is read once for its labels, and then for every group of networks.

    Args:
        supernet: What is to run the images; they are moved to its device.
        loader: The batches. They must come in the same order every time.
        name: The split, for messages.
        min_images: How many images every batch must have: BN by the batch's own statistics needs two.
    """

    supernet: Supernet
    loader: Loader
    name: str
    min_images: int = 1
    labels: Labels = field(init=False)

    def __post_init__(self) -> None:
        require_reiterable(self.loader, self.name)
        batches = [check_batch(self.supernet, batch)[1] for batch in self.loader]
        if not batches:
            raise InputError(f"the {self.name} batches are empty: at least one is needed")
        if min(map(len, batches)) < self.min_images:
            raise InputError(
                f"a {self.name} batch must have {self.min_images} images or more for BN by its own statistics, "
                f"got {min(map(len, batches))}"
            )
        labels = torch.cat(batches).cpu().numpy()
        if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
            raise InputError(f"{self.name} labels must be integers, one per image, got {labels.dtype} {labels.shape}")
        classes = self.supernet.classes
        if labels.min() < 0 or labels.max() >= classes:
            odd = labels[(labels < 0) | (labels >= classes)][0]
            raise InputError(f"{self.name} labels must lie in 0..{classes - 1}, got {odd}")
        object.__setattr__(self, "labels", labels.astype(np.int64))

    def evaluate(self) -> Iterator[Batch]:
        """All batches, on the supernet's device; refuses batches that differ from those of the first time."""
        device = next(self.supernet.parameters()).device
        end = 0
        for images, labels in self.loader:
            start, end = end, end + len(images)
            if not np.array_equal(labels.cpu().numpy(), self.labels[start:end]):
                raise InputError(
                    f"the {self.name} batches are not the same as the first time: "
                    "a loader for scores must not shuffle (shuffle=False)"
                )
            yield images.to(device), labels
        if end != len(self.labels):
            raise InputError(f"the {self.name} batches held {len(self.labels)} images the first time, then {end}")


def first_images(supernet: Supernet, loader: Loader, images: int, batch_size: int) -> tuple[Tensor, ...]:
    """The first training images of a loader, kept in memory, in equal batches.

    Args:
        supernet: What is to run them.
        loader: Batches of training images and labels, read from the start until there are enough.
        images: How many to take; all, if there are fewer.
        batch_size: Images of a batch at most.

    Returns:
        Batches of images on the supernet's device.
    """
    batches: list[Tensor] = []
    for batch in loader:
        batches.append(check_batch(supernet, batch)[0])
        if sum(map(len, batches)) >= images:
            break
    if sum(map(len, batches)) < 2:
        raise InputError(f"BN recalibration needs two training images or more, got {sum(map(len, batches))}")
    taken = torch.cat(batches)[:images].to(next(supernet.parameters()).device)
    return torch.split(taken, even(len(taken), batch_size))


def require_reiterable(loader: object, name: str) -> None:
    """Refuse what cannot be iterated, or only once.

    Args:
        loader: What the caller gave.
        name: The split, for the message.
    """
    if not isinstance(loader, Iterable):
        raise InputError(f"the {name} batches must be an iterable of (images, labels), got {type(loader).__name__}")
    if isinstance(loader, Iterator):
        raise InputError(
            f"the {name} batches must be iterable again and again, such as a list or a DataLoader, "
            f"got a {type(loader).__name__}"
        )
