"""Distillation: a network learns from labels and from what a teacher says of the same images.

The teacher sees every training image once, as it is or also mirrored; what it says is kept and mixed with the labels.
That costs one pass over the data in place of one per epoch. The price: the student sees augmented images that the
teacher did not see.

Paper: Hinton, Vinyals and Dean, "Distilling the Knowledge in a Neural Network", arXiv 1503.02531.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from ..datasets.batches import Batches
from ..datasets.dataset import Dataset
from ..errors import RunError
from ..training.checkpoint import read, write
from .scores import Logits

NAME = "targets"  # of the tensor in a file


class Taught:
    """Batches whose labels are distributions over the classes.

    Args:
        batches: The images.
        targets: One distribution for every image of the data set.
    """

    def __init__(self, batches: Batches, targets: Tensor) -> None:
        dataset = batches.dataset
        expected = len(dataset.labels), len(dataset.classes)
        if tuple(targets.shape) != expected:  # they are read from a file, which may be of another run
            raise RunError(f"a teacher's targets are {tuple(targets.shape)} numbers, and those of the data {expected}")
        self.batches, self.targets = batches, targets

    @property
    def steps_per_epoch(self) -> int:
        """As without a teacher."""
        return self.batches.steps_per_epoch

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Images, and their targets."""
        x, _ = self.batches.batch(step)
        return x, self.targets[torch.from_numpy(self.batches.rows(step))].to(x.device)


def mixed_targets(dataset: Dataset, logits: Logits, share: float, temperature: float = 1.0) -> Tensor:
    """Labels and a teacher's answers in one distribution for each image.

    Args:
        dataset: The images.
        logits: The teacher's, for the rows of the split `train`.
        share: What the teacher counts, 0 to 1.
        temperature: By which its logits are divided.

    Returns:
        Images of the data set x classes; those that are not trained on keep their labels.
    """
    targets = F.one_hot(torch.from_numpy(dataset.labels), len(dataset.classes)).float()
    rows = torch.from_numpy(dataset.splits["train"])
    answers = (torch.from_numpy(logits) / temperature).softmax(dim=1)
    targets[rows] = (1 - share) * targets[rows] + share * answers
    return targets


def write_targets(path: Path, targets: Tensor) -> None:
    """Keep targets, with their checksum."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, {NAME: targets}, {})


def read_targets(path: Path) -> Tensor:
    """The targets of a file that `write_targets` made."""
    tensors, _ = read(path)
    if NAME not in tensors:
        raise RunError(f"{path} holds no targets of a teacher")
    return tensors[NAME]
