from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from supernetic.datasets import Dataset, embedded, load
from supernetic.datasets.embedded import DATA_FOLDER, LABELS_FILE, SHEET_FILE
from supernetic.errors import DataError


def test_it_is_small_balanced_and_split(embedded: Dataset) -> None:
    assert embedded.images.shape == (10_000, 28, 28, 1)
    assert embedded.licence == "MIT"
    assert {s: embedded.counts(s) for s in embedded.splits} == {
        "train": [680] * 10,
        "valid": [80] * 10,
        "calibrate": [40] * 10,
        "test": [200] * 10,
    }
    assert sum(p.stat().st_size for p in DATA_FOLDER.iterdir()) < 5_000_000
    assert load("embedded").fingerprint == embedded.fingerprint


def test_readme_and_licence_go_with_it() -> None:
    readme = (DATA_FOLDER / "README.md").read_text()
    for name, digest in (SHEET_FILE, LABELS_FILE):
        assert f"`{name}` | `{digest}`" in readme
        assert hashlib.sha256((DATA_FOLDER / name).read_bytes()).hexdigest() == digest
    assert "permission notice shall be included" in (DATA_FOLDER / "LICENSE-fashion-mnist.txt").read_text()


def test_a_damaged_or_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "DATA_FOLDER", tmp_path)
    with pytest.raises(DataError, match=r"fashion_mnist_labels\.npz cannot be read: No such file"):
        load("embedded")
    for name, _ in (SHEET_FILE, LABELS_FILE):
        (tmp_path / name).write_bytes((DATA_FOLDER / name).read_bytes())
    whole = (DATA_FOLDER / SHEET_FILE[0]).read_bytes()
    (tmp_path / SHEET_FILE[0]).write_bytes(whole[:5000] + b"x" + whole[5001:])
    with pytest.raises(DataError, match=r"fashion_mnist\.png is damaged: SHA-256 .*; reinstall supernetic"):
        load("embedded")


def test_classes_can_be_told_apart(embedded: Dataset) -> None:
    """Nearest class mean is far better than chance: labels belong to their images."""
    x = embedded.images.reshape(10_000, -1).astype(np.float64)
    train, test = embedded.splits["train"], embedded.splits["test"][:300]
    means = np.stack([x[train][embedded.labels[train] == c].mean(0) for c in range(10)])
    nearest = ((x[test, None] - means) ** 2).sum(2).argmin(1)
    assert (nearest == embedded.labels[test]).mean() > 0.6
