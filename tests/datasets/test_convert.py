from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supernetic.datasets import Dataset
from supernetic.datasets.convert import choose, main, select, sheet_of
from supernetic.datasets.embedded import LABELS_FILE, SHEET_FILE
from supernetic.datasets.sheets import tiles


def test_choose_takes_equally_many_in_order() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(4), 50))
    rows = choose(labels, 40)
    assert np.bincount(labels[rows]).tolist() == [10] * 4
    assert (np.diff(rows) > 0).all()


def test_sheet_of_places_tiles_row_by_row(embedded: Dataset) -> None:
    sheet = sheet_of(embedded.images[:6], 3)
    assert sheet.shape == (56, 84)
    assert np.array_equal(sheet[28:, 28:56], embedded.images[4, ..., 0])


def test_the_bundled_images_are_what_the_script_selects(sheets: Path, embedded: Dataset) -> None:
    images, labels = select(sheets / "fashion_mnist")
    assert np.array_equal(images, embedded.images)
    assert np.array_equal(np.concatenate([labels["train"], labels["test"]]), embedded.labels)


def test_what_is_written_can_be_read_back(sheets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supernetic.datasets.convert.IMAGE_COUNTS", {"train": 200, "test": 100})
    digests = main(sheets / "fashion_mnist", tmp_path)
    assert sorted(digests) == sorted(p.name for p in tmp_path.iterdir())
    images, labels = select(sheets / "fashion_mnist")
    assert np.array_equal(tiles("made", (tmp_path / SHEET_FILE[0]).read_bytes(), 300, 28), images)
    with np.load(tmp_path / LABELS_FILE[0]) as file:
        assert np.array_equal(file["test"], labels["test"])
