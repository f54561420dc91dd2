from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from supernetic.datasets import SPLITS, Dataset
from supernetic.errors import DataError


def tiny(**changes: Any) -> Dataset:
    n = 8
    values: dict[str, Any] = {
        "name": "tiny",
        "images": np.arange(n * 4 * 4 * 3, dtype=np.uint8).reshape(n, 4, 4, 3),
        "labels": np.arange(n) % 2,
        "classes": ("a", "b"),
        "splits": dict(zip(SPLITS, (np.arange(4), np.array([4]), np.array([5]), np.array([6, 7])), strict=True)),
        "rows": np.arange(n) * 10,
        "source": "here",
    }
    return Dataset(**{**values, **changes})


def test_moments_are_those_of_the_training_images_alone() -> None:
    data = tiny()
    train = data.images[:4].astype(np.float64) / 255
    assert np.allclose(data.mean, train.mean((0, 1, 2)), atol=1e-12)
    assert np.allclose(data.std, train.std((0, 1, 2)), atol=1e-12)


def test_a_constant_channel_keeps_a_deviation() -> None:
    assert tiny(images=np.zeros((8, 4, 4, 1), dtype=np.uint8)).std == (1 / 255,)


def test_fingerprint_follows_content_and_not_its_place() -> None:
    base = tiny().fingerprint
    assert tiny(name="other", source="there", rows=np.arange(8)).fingerprint == base
    images = tiny().images.copy()
    images[7, 3, 3, 2] ^= 1
    moved = {**tiny().splits, "train": np.arange(5), "valid": np.array([], dtype=np.int64)}
    others = [tiny(images=images), tiny(labels=np.arange(8)[::-1] % 2), tiny(classes=("a", "c")), tiny(splits=moved)]
    assert len({base, *(d.fingerprint for d in others)}) == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.zeros(7, dtype=np.int64)}, "8 images need as many labels, got 7"),
        ({"images": np.zeros((8, 4, 4, 3))}, "uint8"),
        ({"images": np.zeros((8, 4, 4, 2), dtype=np.uint8)}, "8x4x4x2"),
        ({"splits": {"train": np.arange(8)}}, "the splits must be train, valid"),
        ({"splits": {**tiny().splits, "test": np.array([5, 6, 7])}}, "exactly one split"),
        ({"splits": {**tiny().splits, "test": np.array([6])}}, "exactly one split"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        tiny(**changes)


def test_records_are_plain_and_point_into_the_source() -> None:
    data = tiny()
    record = json.loads(json.dumps(data.split_record()))
    assert record["splits"] == {"train": [0, 10, 20, 30], "valid": [40], "calibrate": [50], "test": [60, 70]}
    summary = json.loads(json.dumps(data.summary()))
    assert summary["images"] == {"train": 4, "valid": 1, "calibrate": 1, "test": 2}
    assert summary["fingerprint"] == record["fingerprint"] == data.fingerprint
    assert (data.resolution, data.channels, data.counts("train")) == (4, 3, [2, 2])
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "x"  # type: ignore[misc]
