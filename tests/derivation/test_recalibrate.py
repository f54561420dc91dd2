from __future__ import annotations

import torch

from supernetic.blueprint import Blueprint, Layer
from supernetic.datasets import load
from supernetic.datasets.batches import Batches
from supernetic.derivation.recalibrate import even, fixed_images, recalibrate
from supernetic.nn.network import build


def test_batches_are_equal_and_no_larger_than_allowed() -> None:
    assert [even(n, 256) for n in (1, 256, 257, 1024, 1025)] == [1, 256, 129, 256, 205]


def test_the_images_are_those_of_the_training_split_and_always_the_same() -> None:
    batches = Batches(load("embedded", limit=200), resolution=8)
    found = fixed_images(batches, 50, 20)
    assert [len(x) for x in found] == [17, 17, 16]
    again = fixed_images(batches, 50, 20)
    assert all(torch.equal(a, b) for a, b in zip(found, again, strict=True))
    rows = batches.dataset.splits["train"]
    train = {tuple(x.flatten().tolist()) for x in batches._plain(batches._bytes(rows), rows)[0]}
    assert all(tuple(x.flatten().tolist()) in train for x in torch.cat(found))


def test_statistics_are_the_mean_over_the_batches() -> None:
    layers = (
        Layer("stem", "conv", 1, 3, 8, 8, 3),
        Layer("pool", "gap", 3, 3, 8, 1),
        Layer("classifier", "linear", 3, 2, 1, 1),
    )
    network = build(Blueprint(layers), seed=0)
    unit = network.units(layers[0])["conv"]
    batches = fixed_images(Batches(load("embedded", limit=200), resolution=8), 60, 20)
    recalibrate(network, batches)
    assert unit.op is not None
    means = [unit.op(x).mean((0, 2, 3)) for x in batches]
    variances = [unit.op(x).var((0, 2, 3)) for x in batches]
    mean, variance = unit.averages()
    torch.testing.assert_close(mean, torch.stack(means).mean(0))
    torch.testing.assert_close(variance, torch.stack(variances).mean(0))
