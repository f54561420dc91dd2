from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from supernetic.datasets import Dataset, load
from supernetic.datasets.image_files import ImageFiles
from supernetic.datasets.loading import outline
from supernetic.datasets.stored import StoredImages, is_outline, read_copy
from supernetic.errors import DataError


@pytest.fixture
def images(tmp_path: Path) -> StoredImages:
    for i in range(6):
        Image.new("RGB", (4, 4), (i, 10 + i, 20 + i)).save(tmp_path / f"{i}.png")
    return StoredImages.of_files(ImageFiles(str(tmp_path), tuple(f"{i}.png" for i in range(6)), 4, False))


def test_like_an_array(images: StoredImages) -> None:
    assert images.shape == (6, 4, 4, 3)
    assert (images.dtype.name, images.ndim, len(images), images.nbytes) == ("uint8", 4, 6, 288)
    some = images[np.array([5, 2])]
    assert some.shape == (2, 4, 4, 3)
    assert some[:, 0, 0].tolist() == [[5, 15, 25], [2, 12, 22]]


def test_some_of_some_from_files_and_from_a_copy(images: StoredImages, tmp_path: Path) -> None:
    whole = images[np.arange(6)]
    copy = tmp_path / "copy"
    copy.write_bytes(whole.tobytes())
    copied = StoredImages(images.files, images.places, "key", copy)
    for stored in (images, copied, pickle.loads(pickle.dumps(copied))):
        part = stored.take(np.array([5, 1, 3])).take(np.array([2, 0]))
        assert len(part) == 2
        assert np.array_equal(part[np.array([1, 0])], whole[[5, 3]])
    for name in images.files.names:
        images.files.path(int(name[0])).unlink()  # nobody reads them any more
    assert np.array_equal(copied[np.array([4])], whole[4:5])


def test_a_copy_that_is_damaged(images: StoredImages, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with pytest.raises(DataError, match="copy cannot be read: No such file or directory; start again to decode them"):
        read_copy(copy, np.array([0]), images.shape)
    copy.write_bytes(b"")
    with pytest.raises(DataError, match="copy cannot be read: "):
        read_copy(copy, np.array([0]), images.shape)
    copy.write_bytes(bytes(100))
    assert read_copy(copy, np.array([1]), images.shape).shape == (1, 4, 4, 3)
    with pytest.raises(DataError, match="copy are cut off: 2 images; start again to decode them"):
        read_copy(copy, np.array([2]), images.shape)


def test_an_outline_is_what_loading_gives_but_for_decoding(folder: Path, embedded: Dataset) -> None:
    first, loaded = outline(folder), load(folder)
    assert is_outline(first)
    assert not is_outline(loaded)
    assert not is_outline(embedded)
    assert first.images.shape == loaded.images.shape
    assert first.files == loaded.files
    assert all(np.array_equal(first.splits[split], loaded.splits[split]) for split in loaded.splits)
    assert first.fingerprint == loaded.fingerprint  # which reads all images
