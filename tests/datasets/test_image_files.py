from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from supernetic.datasets import load
from supernetic.datasets.image_files import Decoded, ImageFiles, notes_of, read_all, require_readable, usual_shape
from supernetic.errors import DataError


@pytest.fixture
def files(tmp_path: Path) -> ImageFiles:
    for i, (size, mode) in enumerate([((8, 6), "RGB"), ((6, 9), "L"), ((6, 6), "RGB")]):
        Image.new(mode, size, 50 * (i + 1)).save(tmp_path / f"{i}.png")
    return ImageFiles(str(tmp_path), ("0.png", "1.png", "2.png"), 6, False)


def test_decoding_tells_what_it_found(files: ImageFiles) -> None:
    files.path(2).write_bytes(b"")
    found = files.decode(np.array([1, 2, 0]))
    assert found.images.shape == (3, 6, 6, 3)
    assert found.images[0].tolist() == [[[100] * 3] * 6] * 6
    assert not found.images[1].any()
    assert found.faults == [f"{files.path(2)} is empty: 0 bytes"]
    assert found.sizes == {(6, 9): 1, (8, 6): 1}
    assert found.modes == {"L": 1, "RGB": 1}
    with pytest.raises(DataError, match=r"2\.png is empty"):
        require_readable(found.faults)


def test_the_key_follows_the_files(files: ImageFiles, tmp_path: Path) -> None:
    key = files.key()
    assert files.key() == key
    assert len({key, files.take(np.array([1, 0, 2])).key(), ImageFiles(files.root, files.names, 7, False).key()}) == 3
    before = files.path(0).stat()
    Image.new("RGB", (8, 6), 51).save(files.path(0))
    os.utime(files.path(0), ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert files.key() != key
    files.path(1).unlink()
    with pytest.raises(DataError, match=r"1\.png cannot be read: No such file or directory"):
        files.key()


def test_headers_tell_the_usual_shape(files: ImageFiles) -> None:
    assert usual_shape(files.root, files.names) == (6, False)
    assert usual_shape(files.root, ["1.png"]) == (6, True)
    files.path(1).write_text("no image")
    assert usual_shape(files.root, files.names) == (6, False)
    assert usual_shape(files.root, ["1.png"]) == (1, True)


def test_decoding_decides_where_a_header_was_wrong(files: ImageFiles) -> None:
    assert read_all(ImageFiles(files.root, ("1.png",), 6, False, by_headers=True))[0].shape == (1, 6, 6, 1)
    assert read_all(ImageFiles(files.root, ("1.png",), 6, False))[0].shape == (1, 6, 6, 3)


def test_images_that_are_in_memory_are_not_decoded_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(folder)
    decode = ImageFiles.decode
    calls: list[int] = []

    def counted(self: ImageFiles, rows: Any) -> Decoded:
        calls.append(len(rows))
        return decode(self, rows)

    monkeypatch.setattr(ImageFiles, "decode", counted)
    second = load(folder, seed=3)
    assert second.images is first.images
    assert second.notes == first.notes
    assert not calls
    assert load(folder, resolution=20).images.shape[1] == 20
    assert calls == [24]
    Image.new("L", (28, 28), 3).save(folder / "bag" / "00.png")
    assert (load(folder).images[0] == 3).all()
    assert calls == [24, 24]


def test_notes_in_one_line_each() -> None:
    sizes = Counter({(8, 6): 1, (9, 20): 2})
    assert notes_of(Counter({"": 2, "CMYK images converted to RGB": 1}), sizes, Counter(L=1, RGB=2), 6, False) == [
        "1 CMYK images converted to RGB",
        "images of 2 sizes, 6x8 to 20x9: cut to the centre and resized to 6x6",
        "1 gray and 2 colour images: all read as colour",
    ]
    assert notes_of(Counter(), Counter({(6, 6): 3}), Counter(L=3), 6, True) == []
