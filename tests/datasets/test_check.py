from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from supernetic.datasets import load
from supernetic.datasets.check import check_data


def test_the_embedded_data_are_clean() -> None:
    report = check_data()
    assert report.notes == ()
    assert report.counts["test"] == [200] * 10
    assert report.imbalance == 1
    assert report.duplicates.between == {}
    plain = json.loads(json.dumps(report.to_json()))
    assert plain["fingerprint"] == load().fingerprint
    assert plain["duplicates"] == {"between": {}, "within": {}, "conflicting": 0, "example": []}
    lines = report.lines()
    assert lines[:2] == ["embedded (embedded, licence MIT)", "10,000 images of 28x28, gray, 10 classes"]
    assert lines[-1].split() == ["all", "6,800", "800", "400", "2,000"]
    assert str(report) == "\n".join(lines)


def test_what_would_spoil_a_result_is_noted(tmp_path: Path) -> None:
    images = load("embedded", limit=200).images[..., 0]
    for split, name, rows in (
        ("train", "many", range(60)),
        ("train", "few", range(60, 64)),
        ("test", "many", [0, 1, 70]),
        ("test", "few", [80, 60, 60, 61, 2]),
    ):
        (tmp_path / split / name).mkdir(parents=True)
        for i, row in enumerate(rows):
            Image.fromarray(images[row]).save(tmp_path / split / name / f"{i:02}.png")
    report = check_data(tmp_path, valid=0, calibrate=0)
    assert report.duplicates.between == {"train/test": 5}
    assert report.notes == (
        "the split valid is empty",
        "the split calibrate is empty",
        "the largest class has 15 times as many training images as the smallest",
        "5 pictures are in train and in test alike",
        "for example train train/few/00.png and test test/few/01.png",
        "test holds 1 superfluous copy",
        "1 picture is under different labels",
    )
    assert report.lines()[-1] == "note: 1 picture is under different labels"


def test_many_classes_are_cut_short_for_people(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", images=rng.integers(0, 256, (200, 4, 4), dtype=np.uint8), labels=np.arange(200) % 20)
    assert "  ... 8 more classes" in check_data(tmp_path / "a.npz", resolution=8).lines()
