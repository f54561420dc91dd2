from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from supernetic import catalog
from supernetic.errors import InputError
from supernetic.evaluators.batch_data import LoaderSplit, first_images
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.supernets.supernet import Supernet

NET = Supernet(catalog.space("macro:channels=4,resolution=8,head=16"), seed=0)


def batch(n: int = 4, start: int = 0) -> tuple[Tensor, Tensor]:
    return torch.randn(n, 3, 8, 8, generator=torch.Generator().manual_seed(start)), torch.arange(start, start + n) % 10


def test_a_split_knows_its_labels_and_gives_the_batches() -> None:
    split = LoaderSplit(NET, [batch(4), batch(3, 4)], "valid")
    assert split.labels.tolist() == list(range(7))
    assert split.labels.dtype == np.int64
    assert [len(x) for x, _ in split.evaluate()] == [4, 3]


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        (iter([batch()]), "must be iterable again and again, such as a list or a DataLoader, got a list_iterator"),
        (3, "must be an iterable of .images, labels., got int"),
        ([], "the valid batches are empty"),
        ([batch()[0]], "a batch must be .images, labels., two tensors, got Tensor"),
        (
            [(batch()[0].byte(), batch()[1])],
            r"images must be floats of N x C x H x W, got torch.uint8 of 4 x 3 x 8 x 8",
        ),
        ([(batch()[0][:, :1], batch()[1])], "macro takes images of 3 channels, got 1"),
        ([(torch.zeros(4, 3, 9, 9), batch()[1])], "macro takes images of 8 x 8 pixels, got 9 x 9"),
        ([(batch()[0], batch()[1][:3])], "4 images and 3 labels"),
        ([(batch()[0], batch()[1] + 7)], r"labels must lie in 0..9, got 10"),
        ([(batch()[0], batch()[1] / 2)], "labels must be integers"),
    ],
)
def test_batches_that_cannot_be_scored_are_refused(batches: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LoaderSplit(NET, batches, "valid")


def test_a_single_image_has_no_statistics() -> None:
    with pytest.raises(InputError, match="must have 2 images or more for BN by its own statistics, got 1"):
        SupernetEvaluator(NET, [batch(4), batch(1)], bn="batch")
    with pytest.raises(InputError, match="two training images or more, got 1"):
        first_images(NET, [batch(1)], 64, 32)


def test_a_loader_that_shuffles_is_refused() -> None:
    loader = DataLoader(
        TensorDataset(*batch(40)), batch_size=10, shuffle=True, generator=torch.Generator().manual_seed(0)
    )
    evaluate = SupernetEvaluator(NET, loader, bn="batch")
    with pytest.raises(InputError, match="must not shuffle"):
        evaluate([(1,) * 8])


class Shrinking:
    """Has fewer batches every time."""

    def __init__(self) -> None:
        self.left = 3

    def __iter__(self) -> Any:
        self.left -= 1
        return iter([batch()] * self.left)


def test_a_loader_that_ends_early_is_refused() -> None:
    with pytest.raises(InputError, match="held 8 images the first time, then 4"):
        list(LoaderSplit(NET, Shrinking(), "valid").evaluate())


def test_recalibration_takes_the_first_images_in_equal_batches() -> None:
    loader = [batch(4), batch(4, 4), batch(4, 8)]
    taken = first_images(NET, loader, 7, 5)
    assert [len(x) for x in taken] == [4, 3]
    assert torch.equal(torch.cat(taken), torch.cat([loader[0][0], loader[1][0][:3]]))
    assert sum(map(len, first_images(NET, loader, 100, 100))) == 12
