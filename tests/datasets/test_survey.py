from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
from PIL import Image

from supernetic.datasets import Dataset, load
from supernetic.datasets.check import report_on
from supernetic.datasets.dataset import stored_images
from supernetic.datasets.decoded import FOUND, PART, PARTS, PIXELS
from supernetic.datasets.image_files import ImageFiles
from supernetic.datasets.stored import StoredImages
from supernetic.datasets.survey import Facts, histogram_of
from supernetic.errors import DataError
from supernetic.progress import Event


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two classes of 30 JPEGs of several sizes, gray ones and a transparent one among them, and two equal pictures."""
    return make_photos(tmp_path / "photos", 30)


def make_photos(root: Path, per_class: int) -> Path:
    rng = np.random.default_rng(0)
    for label, name in enumerate(("hill", "lake")):
        (root / name).mkdir(parents=True)
        for i in range(per_class):
            side = 24 + i % 5
            pixels = rng.integers(90 * label, 90 * label + 90, (side, side + 3, 3), dtype=np.uint8)
            image = Image.fromarray(pixels)
            (image.convert("L") if i % 7 == 3 else image).save(root / name / f"{i:03}.jpg")
    Image.new("RGBA", (30, 30), (10, 200, 30, 99)).save(root / "hill" / "clear.png")
    shutil.copy(root / "hill" / "001.jpg", root / "hill" / "copy.jpg")
    return root


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """From here on images stay in their files; the place where copies of them are made."""
    monkeypatch.setenv("SUPERNETIC_IMAGE_MEMORY", "1K")
    monkeypatch.setenv("SUPERNETIC_IMAGE_CACHE", str(tmp_path / "copies"))
    monkeypatch.setenv("SUPERNETIC_LOADERS", "2")
    monkeypatch.setattr("supernetic.datasets.survey.PART_IMAGES", 16)
    return tmp_path / "copies"


def on_disk(data: Dataset) -> StoredImages:
    found = stored_images(data.images)
    assert isinstance(found, StoredImages)
    return found


def same(first: Dataset, second: Dataset) -> None:
    assert first.fingerprint == second.fingerprint
    assert first.moments == second.moments
    assert first.summary() == second.summary()
    rows = np.array([5, 0, 61, 33])
    assert np.array_equal(first.images[rows], second.images[rows])
    one, other = report_on(first), report_on(second)
    assert one.duplicates == other.duplicates
    assert one.duplicates.within or one.duplicates.between  # of the two equal pictures
    places = [n for n in other.notes if "stay in" not in n and "limit for memory" not in n]
    assert sorted(one.notes) == sorted(places)


def test_files_and_copy_are_the_data_set_in_memory(photos: Path, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUPERNETIC_IMAGE_MEMORY")
    in_memory = load(photos)
    assert isinstance(in_memory.images, np.ndarray)
    monkeypatch.setenv("SUPERNETIC_IMAGE_MEMORY", "1K")
    copied = load(photos)
    assert on_disk(copied).decoded is not None
    same(in_memory, copied)
    monkeypatch.setenv("SUPERNETIC_IMAGE_CACHE", "off")
    in_files = load(photos)
    assert on_disk(in_files).decoded is None
    same(in_memory, in_files)


def test_every_image_is_decoded_once(photos: Path, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERNETIC_LOADERS", "0")  # so that they are counted here
    decoded = count_decoded(monkeypatch)
    data = load(photos)
    report_on(data)
    data.summary()
    assert sorted(decoded) == sorted(data.files)
    decoded.clear()
    other = load(photos, seed=1)  # other splits, the same images
    assert other.fingerprint != data.fingerprint
    report_on(other)
    again = load(photos)
    assert again.fingerprint == data.fingerprint
    assert not decoded
    monkeypatch.setenv("SUPERNETIC_IMAGE_CACHE", "off")
    report_on(load(photos))
    assert sorted(decoded) == sorted(data.files)
    decoded.clear()
    report_on(load(photos))  # what was found is kept, though the images are not
    assert not decoded


def count_decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    decoded: list[str] = []
    original = ImageFiles.decode

    def decode(self: ImageFiles, rows: Any) -> Any:
        decoded.extend(self.names[row] for row in rows)
        return original(self, rows)

    monkeypatch.setattr(ImageFiles, "decode", decode)
    return decoded


def test_sizes_are_said_before(photos: Path, stored: Path) -> None:
    events: list[Event] = []
    data = load(photos, resolution=20, on_event=events.append)
    first, second, *counts = events
    assert first.text == "74.4 kB of images are above the limit for memory, 1.0 kB (set by SUPERNETIC_IMAGE_MEMORY)"
    assert second.text == f"62 images are decoded once, into {stored / on_disk(data).key}, which will take 74.4 kB"
    assert [e.done for e in counts] == [16, 32, 48, 62]
    copy = on_disk(data).decoded
    assert copy is not None
    assert copy.stat().st_size == 62 * 20 * 20 * 3


def test_changed_files_have_another_copy(photos: Path, stored: Path) -> None:
    before = load(photos)
    Image.new("RGB", (26, 26), (1, 2, 3)).save(photos / "lake" / "004.jpg")
    after = load(photos)
    assert after.fingerprint != before.fingerprint
    row = after.files.index("lake/004.jpg")
    assert abs(after.images[np.array([row])].astype(int) - (1, 2, 3)).max() < 4
    (photos / "lake" / "004.jpg").unlink()
    assert len(load(photos).images) == 61


def test_a_disk_that_is_full_does_without(photos: Path, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supernetic.datasets.decoded.SPARE_BYTES", 10**18)
    data = load(photos)
    assert on_disk(data).decoded is None
    assert any("decoded whenever they are read" in n and " free, " in n for n in data.notes)
    assert not list(stored.rglob(f"{PART}*"))
    monkeypatch.setattr("supernetic.datasets.decoded.SPARE_BYTES", 0)
    monkeypatch.setattr("supernetic.datasets.decoded.os.fsync", _refuse)  # as a disk that fills up on the way
    full = load(photos, resolution=18)
    assert on_disk(full).decoded is None
    assert not list(stored.rglob(PART))
    assert full.images[np.array([3])].shape == (1, 18, 18, 3)


def _refuse(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_place_that_cannot_be_written_does_without(
    photos: Path, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.write_text("a file")
    data = load(photos)
    assert on_disk(data).decoded is None
    assert any("cannot be written" in n for n in data.notes)
    assert len(report_on(data).fingerprint) == 64


def test_broken_images_are_named_in_one_line(photos: Path, stored: Path) -> None:
    (photos / "lake" / "010.jpg").write_text("broken")
    with pytest.raises(DataError, match=r"^\S+lake/010\.jpg is not an image that can be read$"):
        load(photos)
    for i in range(5):
        (photos / "hill" / f"00{i}.jpg").write_bytes(b"")
    with pytest.raises(DataError, match=r"hill/000\.jpg is empty: 0 bytes; .*\(and 3 more\)$"):
        load(photos)
    assert not list(stored.rglob(PIXELS))
    assert not list(stored.rglob(PART))


def test_a_copy_that_was_cut_off_is_made_again(photos: Path, stored: Path) -> None:
    data = load(photos)
    copy = on_disk(data).decoded
    assert copy is not None
    os.truncate(copy, 1000)
    with pytest.raises(DataError, match="are cut off: 0 images; start again"):
        data.images[np.array([40])]
    again = load(photos)
    assert again.fingerprint == data.fingerprint
    assert again.images[np.array([40])].any()


def test_half_a_copy_is_gone_on_with(photos: Path, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a kill leaves it: two parts are there, of a third some pixels, of its line one half."""
    monkeypatch.setenv("SUPERNETIC_LOADERS", "0")
    whole = load(photos)
    folder = stored / on_disk(whole).key
    size = on_disk(whole).image_bytes
    pixels = (folder / PIXELS).read_bytes()
    (folder / PIXELS).unlink()
    (folder / FOUND).unlink()
    (folder / PART).write_bytes(pixels[: 40 * size + 7])
    found = {"changes": {"": 16}, "sizes": [[27, 24, 16]], "modes": {"RGB": 16}}
    lines = [json.dumps({"images": n, **found}) for n in (16, 32)]
    (folder / PARTS).write_text("\n".join([*lines, '{"images": 48, "chan']))
    decoded = count_decoded(monkeypatch)
    again = load(photos)
    assert decoded == list(whole.files[32:])
    assert again.fingerprint == whole.fingerprint
    assert again.moments == whole.moments
    assert (folder / PIXELS).read_bytes() == pixels
    assert not (folder / PART).exists()


def test_killed_while_it_is_made(tmp_path: Path) -> None:
    """A real process, killed at a moment of its own choosing, goes on where it stood."""
    photos = make_photos(tmp_path / "many", 150)
    environment = {
        **os.environ, "SUPERNETIC_IMAGE_MEMORY": "1K", "SUPERNETIC_IMAGE_CACHE": str(tmp_path / "copies"),
        "SUPERNETIC_LOADERS": "1",
    }  # fmt: skip
    code = (
        "import sys, time; from supernetic.datasets import load, survey\n"
        "survey.PART_IMAGES = 8\n"
        "slow = float(sys.argv[2])\n"
        "print(load(sys.argv[1], on_event=lambda e: time.sleep(slow)).fingerprint)"
    )
    command = [sys.executable, "-c", code, str(photos)]
    process = subprocess.Popen([*command, "0.05"], env=environment, stdout=subprocess.DEVNULL)
    lines: list[str] = []
    until = monotonic() + 300
    while len(lines) < 5 and monotonic() < until:
        sleep(0.05)
        lines = [line for path in tmp_path.rglob(PARTS) for line in path.read_text().splitlines()]
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    assert len(lines) >= 5
    done = subprocess.run([*command, "0"], env=environment, capture_output=True, text=True, check=True)
    whole = load(photos)
    assert isinstance(whole.images, np.ndarray)
    assert done.stdout.split() == [whole.fingerprint]
    (copy,) = tmp_path.rglob(PIXELS)
    assert copy.read_bytes() == whole.images.tobytes()


def test_facts_that_are_no_facts_are_not_believed() -> None:
    facts = Facts("0" * 64, histogram_of(np.zeros((2, 3, 3, 1), dtype=np.uint8)))
    again = Facts.from_record(json.loads(json.dumps(facts.record())))
    assert again is not None
    assert np.array_equal(again.histogram, [[18, *[0] * 255]])
    assert Facts.from_record({"fingerprint": "12"}) is None
    assert Facts.from_record({"fingerprint": "12", "histogram": [[1]]}) is None
