from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from supernetic.datasets import Dataset, load
from supernetic.datasets.folder import read
from supernetic.errors import DataError, InputError


def test_a_class_per_folder(folder: Path, embedded: Dataset) -> None:
    data = load(folder)
    assert data.classes == ("bag", "coat")
    assert data.name == "clothes"
    assert data.images.shape == (24, 28, 28, 1)
    assert np.bincount(data.labels).tolist() == [12, 12]
    bags = embedded.images[embedded.labels == 8][:12]
    assert np.array_equal(data.images[:12], bags)
    assert data.files[0] == "bag/00.png"
    assert {k: len(v) for k, v in data.splits.items()} == {"train": 16, "valid": 2, "calibrate": 2, "test": 4}
    assert data.notes == ()


def test_splits_that_are_there_are_kept(folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "parted"
    for split, numbers in {"train": range(8), "val": range(8, 10), "Test": range(10, 12)}.items():
        for name in ("bag", "coat"):
            (root / split / name).mkdir(parents=True)
            for i in numbers:
                shutil.copy(folder / name / f"{i:02}.png", root / split / name)
    data = load(root)
    assert {k: len(v) for k, v in data.splits.items()} == {"train": 14, "valid": 4, "calibrate": 2, "test": 4}
    assert {data.files[i].split("/")[0] for i in data.splits["valid"]} == {"val"}
    assert {data.files[i].split("/")[0] for i in data.splits["calibrate"]} == {"train"}
    (root / "Test" / "shoe").mkdir()
    with pytest.raises(DataError, match=r"shoe is a class that .*train does not have"):
        read(root)
    shutil.rmtree(root / "Test")
    shutil.copytree(root / "val", root / "valid")
    with pytest.raises(DataError, match="holds one split twice: train, val, valid"):
        read(root)


def test_train_may_be_a_class(folder: Path) -> None:
    (folder / "bag").rename(folder / "train")
    assert read(folder).classes == ("coat", "train")


def test_mixed_sizes_and_colours_are_said_and_settled(folder: Path) -> None:
    Image.new("RGB", (60, 40), (200, 10, 10)).save(folder / "coat" / "00.png")
    Image.new("RGB", (32, 32), (0, 0, 250)).save(folder / "bag" / "00.png")
    data = load(folder)
    assert data.images.shape == (24, 28, 28, 3)
    assert data.notes == (
        "images of 3 sizes, 28x28 to 40x60: cut to the centre and resized to 28x28",
        "22 gray and 2 colour images: all read as colour",
    )
    assert (data.images[12] == (200, 10, 10)).all()
    gray = load(folder, gray=True, resolution=14)
    assert gray.images.shape == (24, 14, 14, 1)
    assert "resized to 14x14" in gray.notes[0]


def test_only_what_is_wanted_is_decoded(folder: Path) -> None:
    (folder / "coat" / "00.png").write_text("broken")
    (folder / "shoe").mkdir()
    (folder / "shoe" / "a.png").write_text("broken")
    with pytest.raises(DataError, match=r"coat/00\.png is not an image that can be read; .*shoe/a\.png is not"):
        load(folder)
    (folder / "coat" / "00.png").unlink()
    assert load(folder, classes=["coat", "bag"]).classes == ("coat", "bag")


def test_many_broken_images_make_one_line(folder: Path) -> None:
    for i in range(10):
        (folder / "bag" / f"{i:02}.png").write_bytes(b"")
    with pytest.raises(DataError) as caught:
        load(folder)
    assert str(caught.value).count("is empty: 0 bytes") == 3
    assert str(caught.value).endswith("(and 7 more)")


def test_files_of_other_kinds_are_counted_not_read(folder: Path) -> None:
    (folder / "bag" / "notes.txt").write_text("hello")
    (folder / "bag" / ".hidden").write_text("hello")
    (folder / "bag" / "Thumbs.db").write_text("hello")
    (folder / ".git").mkdir()
    (note,) = load(folder).notes
    assert note.startswith("1 files are no images and were left out, the first is ")
    assert note.endswith("bag/notes.txt")


def test_folders_that_are_no_task(folder: Path, tmp_path: Path) -> None:
    (folder / "shoe").mkdir()
    with pytest.raises(DataError, match="the class 'shoe' has no image"):
        load(folder)
    shutil.rmtree(folder / "shoe")
    shutil.rmtree(folder / "coat")
    with pytest.raises(DataError, match="two classes or more, got bag"):
        load(folder)
    with pytest.raises(DataError, match="holds images but no class folders"):
        load(folder / "bag")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty is empty"):
        load(tmp_path / "empty")
    with pytest.raises(InputError, match="does not exist"):
        load(tmp_path / "nowhere")


def test_links_to_files_are_followed_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Image.new("L", (28, 28), 7).save(elsewhere / "far.png")
    (folder / "bag" / "near.png").symlink_to(elsewhere / "far.png")
    (folder / "bag" / "gone.png").symlink_to(elsewhere / "gone.png")
    (folder / "bag" / "around").symlink_to(folder, target_is_directory=True)
    (folder / "bag" / "endless.png").symlink_to("/dev/zero")
    data = load(folder)
    assert len(data.images) == 25
    assert (data.images[data.files.index("bag/near.png")] == 7).all()


def test_files_below_folders_of_a_class_come_in_the_order_of_their_parts(folder: Path) -> None:
    (folder / "bag" / "a").mkdir()
    for name in ("a/z.png", "a-b.png"):  # as text, "a-b.png" would come first
        shutil.copy(folder / "bag" / "00.png", folder / "bag" / name)
    assert list(read(folder).files[-14 - 12 : -12][-2:]) == ["bag/a/z.png", "bag/a-b.png"]


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_classes_are_utf8_in_every_locale(locale: str, folder: Path) -> None:
    (folder / "bag").rename(folder / "Bäume")
    code = "import sys; from supernetic.datasets.folder import read; from pathlib import Path\n"
    code += "found = read(Path(sys.argv[1])); print(ascii(found.classes), len(found.labels))"
    plain = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command: list[str | bytes] = [sys.executable, "-c", code, os.fsencode(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **plain})
    assert done.stdout == "('B\\xe4ume', 'coat') 24\n", done.stderr
