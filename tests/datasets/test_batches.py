from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from supernetic.datasets import Dataset, load
from supernetic.datasets.augment import parse
from supernetic.datasets.batches import Batches
from supernetic.errors import InputError
from supernetic.selection.subsets import take_subset


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load("embedded", limit=500)


def restored(data: Dataset, x: Tensor) -> Any:
    """Bytes N x H x W x C from a normalised batch."""
    mean, std = torch.tensor(data.mean), torch.tensor(data.std)
    return ((x.permute(0, 2, 3, 1) * std + mean) * 255).round().byte().numpy()


def test_an_epoch_holds_every_image_once_with_its_label(data: Dataset) -> None:
    batches = Batches(data, batch_size=34, seed=1)
    n = len(data.splits["train"])
    assert batches.steps_per_epoch == n // 34
    known = {data.images[r].tobytes(): data.labels[r] for r in data.splits["train"]}
    seen = []
    for step in range(batches.steps_per_epoch):
        x, y = batches.batch(step)
        assert x.shape == (34, 1, 28, 28)
        for image, label in zip(restored(data, x), y.tolist(), strict=True):
            assert known[image.tobytes()] == label
            seen.append(image.tobytes())
    assert len(seen) == len(set(seen)) == batches.steps_per_epoch * 34


@pytest.mark.parametrize("augment", [None, "shift+flip", "crop+randaugment"])
def test_a_batch_depends_on_seed_and_step_alone(data: Dataset, augment: str | None) -> None:
    def make(seed: int = 0) -> Batches:
        return Batches(data, batch_size=32, seed=seed, augment=parse(augment) if augment else None)

    walked = make()
    steps = [walked.batch(s) for s in range(30)]
    for step in (29, 3, 17):
        torch.manual_seed(step)  # the global state does not matter
        x, y = make().batch(step)
        assert torch.equal(x, steps[step][0])
        assert torch.equal(y, steps[step][1])
    assert not torch.equal(make(1).batch(0)[0], steps[0][0])
    assert not torch.equal(steps[walked.steps_per_epoch][1], steps[0][1])  # another epoch, another order


def test_order_has_a_stream_of_its_own(data: Dataset) -> None:
    """The loop draws architectures from default_rng([seed, step]): the two must not be tied."""
    rows = data.splits["train"]
    first = np.random.default_rng([0, 0]).permutation(rows)[:32]
    assert not np.array_equal(Batches(data, batch_size=32).batch(0)[1], data.labels[first])


def test_processes_share_a_batch(data: Dataset) -> None:
    whole = Batches(data, batch_size=32, seed=5)
    parts = [Batches(data, batch_size=32, seed=5, rank=r, world=2) for r in (0, 1)]
    for step in (0, 40):
        assert torch.equal(whole.batch(step)[0], torch.cat([p.batch(step)[0] for p in parts]))
    twins = [dataclasses.replace(p, augment=parse("shift"), dataset=data) for p in parts]
    assert not torch.equal(twins[0].batch(0)[0], parts[0].batch(0)[0])
    images = [torch.cat([x for x, _ in p.evaluate()]) for p in parts]
    assert len(images[0]) + len(images[1]) == len(whole)


def test_processes_draw_different_augmentations() -> None:
    images = np.repeat(load("embedded", limit=20).images[:1], 40, axis=0)
    splits = {"train": np.arange(40), "valid": np.arange(0), "calibrate": np.arange(0), "test": np.arange(0)}
    same = Dataset("same", images, np.arange(40) % 2, ("a", "b"), splits, np.arange(40), "here")
    first, second = (
        Batches(same, batch_size=40, augment=parse("shift+flip"), rank=r, world=2).batch(0)[0] for r in (0, 1)
    )
    assert not torch.equal(first, second)


def test_training_images_are_normalised(embedded: Dataset) -> None:
    x = torch.cat([x for x, _ in Batches(embedded, "train", 1000).evaluate()])
    assert float(x.mean()) == pytest.approx(0, abs=1e-4)
    assert float(x.std()) == pytest.approx(1, abs=1e-4)


def test_evaluation_takes_the_whole_split_in_order(data: Dataset) -> None:
    batches = list(Batches(data, "test", 30, augment=parse("shift+flip")).evaluate())
    assert [len(y) for _, y in batches] == [30, 30, 30, 10]
    assert np.array_equal(torch.cat([y for _, y in batches]), data.labels[data.splits["test"]])
    pixels = np.concatenate([restored(data, x) for x, _ in batches])
    assert np.array_equal(pixels, data.images[data.splits["test"]])
    assert all(x.is_contiguous(memory_format=torch.channels_last) for x, _ in batches)


def test_fixed_images_are_training_images_and_always_the_same(data: Dataset) -> None:
    train, valid = Batches(data, "train", 16), Batches(data, "valid", 16)
    assert torch.equal(train.fixed(50), valid.fixed(50))
    assert torch.equal(train.fixed(50)[:20], train.fixed(20))
    known = {data.images[r].tobytes() for r in data.splits["train"]}
    assert all(image.tobytes() in known for image in restored(data, train.fixed(50)))
    assert len(train.fixed(10**6)) == len(train)


def test_colour_and_another_side() -> None:
    data = load("embedded", limit=200, gray=False)
    for augment in (None, parse("crop+flip")):
        x, _ = Batches(data, batch_size=8, resolution=20, augment=augment).batch(0)
        assert x.shape == (8, 3, 20, 20)
        assert x.is_contiguous(memory_format=torch.channels_last)


def test_a_split_smaller_than_a_batch_is_one_batch(data: Dataset) -> None:
    batches = Batches(data, "calibrate", 10_000)
    assert batches.steps_per_epoch == 1
    assert len(batches.batch(0)[1]) == len(batches) == len(data.splits["calibrate"])


def test_many_images_stay_off_the_device(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Batches(data, batch_size=16).batch(2)[0]
    monkeypatch.setattr("supernetic.datasets.batches.RESIDENT_BYTES", 0)
    assert torch.equal(Batches(data, batch_size=16).batch(2)[0], expected)


@pytest.fixture
def stored(tmp_path: Path, data: Dataset, monkeypatch: pytest.MonkeyPatch) -> dict[str, Dataset]:
    """The same 90 images in memory, in their files, and in the decoded copy of these."""
    for row in range(90):
        (tmp_path / "in" / str(row % 3)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(data.images[row, ..., 0]).save(tmp_path / "in" / str(row % 3) / f"{row}.png")
    monkeypatch.setenv("SUPERNETIC_LOADERS", "2")
    in_memory = load(tmp_path / "in")
    monkeypatch.setenv("SUPERNETIC_IMAGE_MEMORY", "1K")
    monkeypatch.setenv("SUPERNETIC_IMAGE_CACHE", "off")
    in_files = load(tmp_path / "in")
    monkeypatch.setenv("SUPERNETIC_IMAGE_CACHE", str(tmp_path / "copies"))
    return {"memory": in_memory, "files": in_files, "copy": load(tmp_path / "in")}


@pytest.mark.parametrize("augment", [None, "light+flip", "inception"])
def test_batches_are_the_same_from_memory_files_and_copy(stored: dict[str, Dataset], augment: str | None) -> None:
    change = parse(augment) if augment else None
    memory, files, copy = (Batches(d, batch_size=20, seed=3, augment=change, resolution=24) for d in stored.values())
    for step in (0, 1, 2, 3, 4, 5, 6, 40, 3):  # consecutive ones over three epochs, and back
        x, y = memory.batch(step)
        for other in (files, copy):
            ox, oy = other.batch(step)
            assert torch.equal(ox, x)
            assert torch.equal(oy, y)
    for first, second, third in zip(memory.evaluate(), files.evaluate(), copy.evaluate(), strict=True):
        assert torch.equal(first[0], second[0])
        assert torch.equal(first[0], third[0])
        assert torch.equal(first[1], third[1])
    assert torch.equal(memory.fixed(64), files.fixed(64))
    assert torch.equal(memory.fixed(7), copy.fixed(7))
    parts = [dataclasses.replace(copy, rank=r, world=2) for r in (0, 1)]
    if change is None:
        for step in range(4):
            assert torch.equal(memory.batch(step)[0], torch.cat([p.batch(step)[0] for p in parts]))


def test_a_subset_stays_where_it_is(stored: dict[str, Dataset]) -> None:
    subsets = [take_subset(d, 30, seed=1) for d in stored.values()]
    assert [isinstance(s.images, np.ndarray) for s in subsets] == [True, False, False]
    assert len({s.fingerprint for s in subsets}) == 1
    assert subsets[0].moments == subsets[1].moments == subsets[2].moments
    batches = [Batches(s, batch_size=9).batch(0)[0] for s in subsets]
    assert torch.equal(batches[0], batches[1])
    assert torch.equal(batches[0], batches[2])


def test_bad_requests(data: Dataset) -> None:
    with pytest.raises(InputError, match="unknown split 'vaild': did you mean 'valid'"):
        Batches(data, "vaild")
    with pytest.raises(InputError, match="must divide over 2 processes, got 33"):
        Batches(data, batch_size=33, world=2)
    with pytest.raises(InputError, match="must divide over 1 processes, got 0"):
        Batches(data, batch_size=0)
    with pytest.raises(InputError, match="the split calibrate of embedded is empty"):
        Batches(load("embedded", limit=500, calibrate=0), "calibrate")
