from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from supernetic.datasets import load
from supernetic.datasets.batches import Batches
from supernetic.networks.training import logits_of, one_thread, training
from supernetic.nn.network import build
from supernetic.spaces.macro import Macro
from supernetic.training.recipe import Recipe

SPACE = Macro(channels=4, resolution=12, classes=10, in_channels=1, head=16)


def test_threads_are_put_back() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def recall_of_a_small_class(balance: str) -> float:
    """Of trousers, after a short training on ten of them."""
    data = load("embedded", limit=1500, resolution=12)
    train = data.splits["train"]
    gone = train[data.labels[train] == 1][10:]
    spare = np.sort(np.concatenate([data.splits["calibrate"], gone]))
    data = replace(data, splits={**data.splits, "train": np.setdiff1d(train, gone), "calibrate": spare})
    network = build(SPACE.blueprint((0,) * 8), seed=0)
    how = Recipe(length="200 steps", batch_size=32, lr=0.2, balance=balance)  # type: ignore[arg-type]
    for _ in training(network, 12, data, how, seed=0):
        pass
    labels = data.labels[data.splits["test"]]
    predicted = logits_of(network.eval(), 12, data, "test").argmax(axis=1)
    return float((predicted[labels == 1] == 1).mean())


def test_small_classes_are_learned_where_classes_are_balanced() -> None:
    plain, weights, sampling = map(recall_of_a_small_class, ("none", "weights", "sampling"))
    assert plain < 0.1 < 0.3 < min(weights, sampling)


def test_a_network_may_see_mirrored_images_too() -> None:
    class LeftHalf(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x[:, 0, :, :4].flatten(1)

    dataset = load("embedded", limit=100)
    x = torch.cat([x for x, _ in Batches(dataset, "train", 7, resolution=8).evaluate()])
    as_it_is = logits_of(LeftHalf(), 8, dataset, "train")
    assert np.array_equal(as_it_is, x[:, 0, :, :4].flatten(1))
    both = logits_of(LeftHalf(), 8, dataset, "train", mirrored=True)
    assert np.allclose(both, (x[:, 0, :, :4] + x[:, 0].flip(2)[:, :, :4]).flatten(1) / 2)
    assert not np.allclose(both, as_it_is)
