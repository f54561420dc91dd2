from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from supernetic.datasets import decoded
from supernetic.datasets.dataset import Images
from supernetic.datasets.decoded import (
    DIGESTS,
    FOUND,
    PART,
    PARTS,
    PIXELS,
    CopyWriter,
    Findings,
    Kept,
    copies_wanted,
    kept_shape,
    place,
)
from supernetic.errors import DataError


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    (tmp_path / "key").mkdir()
    return Kept(tmp_path / "key", count=5, image_bytes=12)


def findings(n: int) -> Findings:
    return Findings(Counter({"odd": n}), Counter({(3, 4): n}), Counter(RGB=n))


def pixels(n: int, value: int) -> Images:
    return np.full((n, 2, 2, 3), value, dtype=np.uint8)


def test_parts_make_a_copy(kept: Kept) -> None:
    assert kept.resume() == (0, Findings.none())
    with CopyWriter(kept, 0) as writer:
        writer.add(pixels(2, 1), findings(2))
        writer.add(pixels(3, 2), findings(3))
        assert not (kept.path / PIXELS).exists()
        assert writer.finish() == kept.pixels == kept.path / PIXELS
    assert (kept.path / PIXELS).read_bytes() == b"\1" * 24 + b"\2" * 36
    assert not (kept.path / PARTS).exists()


@pytest.mark.parametrize("torn", ["", '{"images": 5, "changes"', '{"images": 5}\n', '{"images": 500}\n'])
def test_a_kill_leaves_whole_parts(kept: Kept, torn: str) -> None:
    with CopyWriter(kept, 0) as writer:
        writer.add(pixels(2, 1), findings(2))
        writer.add(pixels(1, 7), findings(1))
    with open(kept.path / PART, "ab") as file:
        file.write(b"\5" * 7)
    with open(kept.path / PARTS, "a") as text:
        text.write(torn)
    assert kept.resume() == (3, findings(3))
    assert (kept.path / PART).read_bytes() == b"\1" * 24 + b"\7" * 12
    with CopyWriter(kept, 3) as writer:
        writer.add(pixels(2, 9), findings(2))
        writer.finish()
    assert (kept.path / PIXELS).read_bytes() == b"\1" * 24 + b"\7" * 12 + b"\x09" * 24


def test_lines_without_their_pixels_do_not_count(kept: Kept) -> None:
    with CopyWriter(kept, 0) as writer:
        writer.add(pixels(2, 1), findings(2))
        writer.add(pixels(2, 7), findings(2))
    (kept.path / PART).write_bytes(b"\1" * 30)
    assert kept.resume() == (2, findings(2))
    (kept.path / PARTS).write_text("nonsense\n")
    assert kept.resume() == (0, Findings.none())
    assert not (kept.path / PART).exists()


def test_small_files_are_whole_or_missing(kept: Kept) -> None:
    assert kept.findings() is None
    assert kept.digests() is None
    kept.write(FOUND, findings(4).record())
    assert kept.findings() == findings(4)
    kept.write(DIGESTS, bytes(range(80)))
    digests = kept.digests()
    assert digests is not None
    assert digests[1].tolist() == list(range(16, 32))
    kept.write(DIGESTS, bytes(79))
    assert kept.digests() is None
    (kept.path / FOUND).write_text("[1]")
    assert kept.findings() is None
    (kept.path / FOUND).write_text('{"sizes": 3}')
    assert kept.findings() is None
    assert not list(kept.path.glob("*.tmp"))


def test_room_on_the_disk(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded, "SPARE_BYTES", 0)
    assert kept.missing_space() == ""
    huge = Kept(kept.path, count=10**9, image_bytes=10**9)
    assert huge.missing_space().startswith(f"{kept.path} has ")
    assert huge.missing_space().endswith("B free")


def test_where_and_whether(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERNETIC_CACHE", str(tmp_path))
    for value, wanted in (("", True), ("on", True), ("off", False), ("No", False)):
        monkeypatch.setenv("SUPERNETIC_IMAGE_CACHE", value)
        assert place() == tmp_path / "images"
        assert copies_wanted() is wanted
    monkeypatch.setenv("SUPERNETIC_IMAGE_CACHE", str(tmp_path / "elsewhere"))
    assert place() == tmp_path / "elsewhere"
    assert copies_wanted()


def test_no_place_at_all_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(decoded, "directory", homeless)
    with pytest.raises(DataError, match="there is no home directory to keep decoded images in: set SUPERNETIC_CACHE"):
        place()


def test_headers_of_many_images_are_read_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERNETIC_IMAGE_CACHE", str(tmp_path / "kept"))
    names = [f"bag/{i:02}.png" for i in range(12)]
    assert kept_shape(str(folder), names) == (28, True)
    assert not (tmp_path / "kept").exists()  # they are few
    monkeypatch.setattr(decoded, "MANY_IMAGES", 10)
    assert kept_shape(str(folder), names) == (28, True)
    monkeypatch.setattr(decoded, "usual_shape", lambda root, names: (1, False))
    assert kept_shape(str(folder), names) == (28, True)
    assert kept_shape(str(folder), names[:11]) == (1, False)
