from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from supernetic import cli


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(12):
            image = Image.fromarray(rng.integers(0, 255, (9, 9, 3), dtype=np.uint8))
            image.save(tmp_path / "photos" / name / f"{i}.png")
    return tmp_path / "photos"


def test_what_there_is(parsed: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    records = parsed("data", "list")["data"]
    assert "embedded" in [r["name"] for r in records]
    assert {"name", "place", "hint", "about", "licence"} <= records[0].keys()
    cli.main(["data", "list"])
    assert capsys.readouterr().out.startswith("embedded")


def test_a_folder_is_checked(photos: Path, parsed: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    record = parsed("data", "check", str(photos))
    assert record["classes"] == ["cat", "dog"]
    cli.main(["data", "check", str(photos)])
    assert "cat" in capsys.readouterr().out
    record = parsed("data", "check", str(photos), "--gray", "--classes", "dog, cat", "--limit", "20", "--test", "0.3")
    assert (record["channels"], record["images"]) == (1, 20)
    assert sum(record["counts"]["test"]) == 6


def test_images_that_do_not_fit_into_memory(
    photos: Path, parsed: Callable[..., Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory = parsed("data", "check", str(photos), "--image-size", "8", "--valid", "4")
    monkeypatch.setenv("SUPERNETIC_IMAGE_MEMORY", "2K")
    monkeypatch.setenv("SUPERNETIC_LOADERS", "1")
    monkeypatch.setenv("SUPERNETIC_IMAGE_CACHE", "")  # so that what the option sets is gone afterwards
    copies = photos.parent / "copies"
    arguments = ["data", "check", str(photos), "--image-size", "8", "--valid", "4", "--image-cache", str(copies)]
    cli.main(arguments)
    out, err = capsys.readouterr()
    assert "4.6 kB of images are above the limit for memory, 2.0 kB (set by SUPERNETIC_IMAGE_MEMORY)" in err
    assert "24 images are decoded once, into " in err
    assert "which will take 4.6 kB" in err
    assert f"note: 4.6 kB of images stay in {copies}" in out
    stored = parsed(*arguments)
    assert stored["fingerprint"] == in_memory["fingerprint"]
    assert stored["duplicates"] == in_memory["duplicates"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "imagenet"], "put the folders train and val there"),
        (["check", "emnist"], "put EMNIST's files there"),
        (["check", "nowhere/at/all"], "does not exist"),
        (["check", "photoss"], "unknown data set 'photoss'"),
        (["check", "empty"], "empty is empty"),
        (["get", "cifar11"], "did you mean 'cifar10'"),
        (["check", "embedded", "--resolution", "0"], "got 0"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, refused: Callable[[list[str], str], str], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    assert refused(["data", *arguments], message) == ""
