from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from supernetic.datasets import Dataset, load
from supernetic.networks.augment_preview import preview_of, write_preview
from supernetic.networks.augmentation import AugmentDecision
from supernetic.runs.directory import open_run
from supernetic.runs.records import AugmentRecord

DECISION = AugmentDecision("light+flip", "Images are mirrored: because.")


@pytest.fixture(scope="module")
def embedded() -> Dataset:
    return load("embedded", limit=1000)


def pictures(record: AugmentRecord) -> npt.NDArray[np.uint8]:
    """Rows x columns x H x W x channels."""
    image = Image.open(io.BytesIO(base64.b64decode(record.sheet)))
    sheet = np.asarray(image.convert("RGB"))
    r = record.resolution
    assert sheet.shape == (record.rows * r, record.columns * r, 3)
    return sheet.reshape(record.rows, r, record.columns, r, 3).swapaxes(1, 2)


def test_the_first_row_has_training_images_of_many_classes(embedded: Dataset) -> None:
    first = pictures(preview_of(embedded, DECISION))[0, ..., 0]
    train = embedded.splits["train"]
    labels = []
    for picture in first:
        same = (embedded.images[train, ..., 0] == picture).all(axis=(1, 2))
        assert same.any()
        labels.append(int(embedded.labels[train[same.argmax()]]))
    assert len(set(labels)) == len(labels) == 8


def test_the_other_rows_have_what_training_sees(embedded: Dataset) -> None:
    for augment, changes in {"none": False, "light": True}.items():
        rows = pictures(preview_of(embedded, AugmentDecision(augment, "")))
        assert [np.array_equal(rows[0], rows[i]) for i in (1, 2)] == [not changes] * 2
        assert np.array_equal(rows[1], rows[2]) == (not changes)
    mirrored = pictures(preview_of(embedded, AugmentDecision("flip", "")))
    for original, *versions in mirrored.swapaxes(0, 1):
        assert all(np.array_equal(v, original) or np.array_equal(v, original[:, ::-1]) for v in versions)


def test_a_preview_depends_on_the_seed_alone_and_is_small() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (60, 64, 64, 3), dtype=np.uint8)  # compresses worst
    data = load((noise, np.arange(60) % 3))
    first, again, other = (preview_of(data, DECISION, seed) for seed in (0, 0, 1))
    assert first == again != other
    assert (first.columns, first.rows, first.resolution) == (8, 3, 40)
    assert len(first.sheet) < 60_000


@pytest.mark.parametrize("n", [2, 9])
def test_few_images_make_a_narrow_preview(n: int) -> None:
    images = np.random.default_rng(0).integers(0, 256, (n + 6, 4, 4), dtype=np.uint8)
    data = load((images, np.arange(n + 6) % 2), valid=2, calibrate=2, test=2)
    assert len(data.splits["train"]) == n
    record = preview_of(data, DECISION)
    assert record.columns == min(n, 8)
    first = pictures(record)[0]
    assert len({picture.tobytes() for picture in first}) == record.columns


def test_a_run_holds_the_record(tmp_path: Path, embedded: Dataset) -> None:
    with open_run(tmp_path / "run", {"job": "search"}) as run:
        write_preview(run, embedded, DECISION, seed=3)
    written = json.loads((tmp_path / "run" / "augment.json").read_text())
    assert AugmentRecord.from_json(written) == preview_of(embedded, DECISION, 3)
