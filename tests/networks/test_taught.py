"""Targets of a teacher, mixed with labels."""

from pathlib import Path

import numpy as np
import pytest
import torch

from supernetic.datasets import load
from supernetic.datasets.batches import Batches
from supernetic.errors import RunError
from supernetic.networks.taught import Taught, mixed_targets, read_targets, write_targets
from supernetic.training.checkpoint import write
from supernetic.training.loss import label_loss


def test_targets_follow_the_images_of_a_batch(tmp_path: Path) -> None:
    dataset = load("embedded", limit=200)
    rows, classes = dataset.splits["train"], len(dataset.classes)
    logits = np.random.default_rng(0).normal(size=(len(rows), classes)).astype(np.float32)
    targets = mixed_targets(dataset, logits, 0.25)
    answers = torch.from_numpy(logits).softmax(1)
    hard = torch.nn.functional.one_hot(torch.from_numpy(dataset.labels), classes).float()
    assert torch.allclose(targets[rows], 0.75 * hard[rows] + 0.25 * answers)
    others = dataset.splits["test"]
    assert torch.equal(targets[others], hard[others])
    write_targets(tmp_path / "t.safetensors", targets)
    taught = Taught(Batches(dataset, "train", 16, seed=3), read_targets(tmp_path / "t.safetensors"))
    x, soft = taught.batch(5)
    assert torch.equal(soft, targets[Batches(dataset, "train", 16, seed=3).rows(5)])
    assert torch.equal(x, Batches(dataset, "train", 16, seed=3).batch(5)[0])
    assert label_loss(torch.zeros(16, classes), soft).item() == pytest.approx(np.log(classes))
    assert taught.steps_per_epoch == taught.batches.steps_per_epoch


def test_targets_of_other_data_are_refused() -> None:
    dataset = load("embedded", limit=200)
    with pytest.raises(RunError, match=r"targets are \(3, 10\) numbers, and those of the data \(200, 10\)"):
        Taught(Batches(dataset, "train", 16), torch.ones(3, 10) / 10)


def test_another_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "t.safetensors", {"other": torch.zeros(1)}, {})
    with pytest.raises(RunError, match="holds no targets"):
        read_targets(tmp_path / "t.safetensors")
