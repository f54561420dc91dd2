"""Images that cannot be read: refused, or left out if the user says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from supernetic.commands.predict import predict
from supernetic.datasets import load
from supernetic.datasets.loading import unreadable_files
from supernetic.errors import DataError
from supernetic.jobs.train.job import train
from supernetic.runs.directory import read_settings


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two classes of thirty images; one file of each is none."""
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(30):
            pixels = rng.integers(0, 255, (8, 8), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{i:02}.png")
    (tmp_path / "photos/a/05.png").write_bytes(b"no image")
    (tmp_path / "photos/b/31.png").write_bytes(b"")
    return tmp_path / "photos"


def test_they_are_refused_unless_the_user_says_so(photos: Path) -> None:
    with pytest.raises(DataError, match=r"05\.png is not an image"):
        load(photos)
    found = load(photos, skip_bad=True)
    assert len(found.images) == 59
    assert "2 images could not be read and were left out: a/05.png, b/31.png" in found.notes
    assert unreadable_files(photos) == ("a/05.png", "b/31.png")
    assert load(photos, skip_bad=["a/05.png", "b/31.png"]).fingerprint == found.fingerprint


def test_too_many_are_refused(photos: Path) -> None:
    for i in range(10):
        (photos / f"a/{i:02}.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"11 of 61 images .* cannot be read, more than can be left out"):
        load(photos, skip_bad=True)


def test_a_run_says_which_were_left_out(photos: Path, tmp_path: Path) -> None:
    train("macro:channels=4,resolution=8,head=16", photos, steps=1, threads=1, skip_bad=True, out=tmp_path / "run")
    assert read_settings(tmp_path / "run")["load"]["skip_bad"] == ["a/05.png", "b/31.png"]
    from supernetic.commands.report import report

    page = report(tmp_path / "run").page
    assert "a/05.png" in Path(str(page)).read_text(encoding="utf-8")


def test_prediction_goes_on_without_them(photos: Path, tmp_path: Path) -> None:
    from supernetic.exporters.card import Card
    from supernetic.exporters.model import save_model
    from supernetic.nn.network import build
    from supernetic.spaces.macro import Macro

    network = build(Macro(channels=4, resolution=8, head=16, classes=2, in_channels=1).blueprint((0,) * 8), seed=0)
    card = Card("m", "t", ("a", "b"), 8, 1, (0.5,), (0.2,), "x", "macro", 1, 1)
    save_model(tmp_path / "m", network.eval(), card, onnx=False)
    with pytest.raises(DataError, match=r"05\.png"):
        predict(tmp_path / "m", [photos])
    found = predict(tmp_path / "m", [photos], skip_bad=True)
    assert len(found.predictions) == 59
    assert [line for line in found.skipped if "05.png" in line]
    assert found.lines()[-1].startswith("left out: ")
