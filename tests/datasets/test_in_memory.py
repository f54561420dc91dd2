from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import IterableDataset, Subset, TensorDataset

from supernetic.datasets import Data, Dataset, load, source_of
from supernetic.datasets.in_memory import as_data
from supernetic.errors import DataError, InputError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (30, 8, 8, 3), dtype=np.uint8)
LABELS = np.arange(30) % 3
FLOATS = (IMAGES / 255).astype(np.float32)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SUPERNETIC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "arrays"


class Pairs:
    """A torch data set in all but name, with what can go wrong on request."""

    classes = ("ant", "bee", "cat")

    def __init__(self, images: Any = IMAGES, labels: Any = LABELS) -> None:
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> Any:
        return self.images[i], self.labels[i]


# --- arrays -----------------------------------------------------------------------------------------------------------


def test_names_and_paths_stay_as_they_are(cache: Path) -> None:
    assert source_of("cifar10") == "cifar10"
    assert source_of(Path("photos")) == Path("photos")
    assert not cache.exists()


def test_equal_arrays_are_written_once_and_load_like_a_file(cache: Path) -> None:
    path = Path(source_of((IMAGES, LABELS)))
    stamp = path.stat().st_mtime_ns
    assert path.parent == cache
    assert source_of((IMAGES.copy(), LABELS.tolist())) == path
    assert path.stat().st_mtime_ns == stamp
    assert [p.name for p in cache.iterdir()] == [path.name]
    data = load(path)
    assert np.array_equal(data.images, IMAGES)
    assert np.array_equal(data.labels, LABELS)
    assert (data.name, data.classes) == ("arrays", ("0", "1", "2"))
    assert data.fingerprint == load(path).fingerprint


@pytest.mark.parametrize(
    "other",
    [
        (IMAGES[::-1], LABELS),
        (IMAGES, LABELS[::-1]),
        (IMAGES.reshape(30, 4, 16, 3), LABELS),
        Data.from_arrays(IMAGES, LABELS, ["a", "b", "c"]),
        Data.from_arrays(IMAGES, LABELS, name="mine"),
        {"train": (IMAGES[:21], LABELS[:21]), "test": (IMAGES[21:], LABELS[21:])},
    ],
)
def test_other_content_has_another_file(cache: Path, other: Any) -> None:
    assert source_of(other) != source_of((IMAGES, LABELS))


def test_the_file_needs_no_pickles(cache: Path) -> None:
    with np.load(source_of((IMAGES, LABELS)), allow_pickle=False) as file:
        assert set(file.files) == {"x_train", "y_train", "classes", "_name", "_notes"}
        for name in file.files:
            assert file[name].dtype.kind in "uiU"


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut short"])
def test_a_damaged_file_is_written_again(cache: Path, damage: bytes) -> None:
    path = Path(source_of((IMAGES, LABELS)))
    whole = path.read_bytes()
    path.write_bytes(damage)
    assert source_of((IMAGES, LABELS)) == path
    assert path.read_bytes() == whole


def test_a_flipped_byte_is_noticed(cache: Path) -> None:
    path = Path(source_of((IMAGES, LABELS)))
    whole = path.read_bytes()
    at = whole.index(IMAGES.tobytes()) + 5
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    source_of((IMAGES, LABELS))
    assert path.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SUPERNETIC_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"arrays cannot be written to the cache: .*SUPERNETIC_CACHE") as caught:
        source_of((IMAGES, LABELS))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_gone_says_what_to_do(cache: Path) -> None:
    path = Path(source_of((IMAGES, LABELS)))
    path.unlink()
    with pytest.raises(DataError, match="held data from Python and is gone: call the job again"):
        load(path)


@pytest.mark.parametrize(
    ("images", "note"),
    [
        (IMAGES, None),
        (IMAGES.tolist(), None),
        (torch.from_numpy(IMAGES), None),
        (FLOATS, "floats in 0..1 stored as 256 levels"),
        (IMAGES.transpose(0, 3, 1, 2), "channels moved from the second axis to the last"),
    ],
)
def test_kinds_of_arrays(cache: Path, images: Any, note: str | None) -> None:
    data = load((images, LABELS))
    assert np.array_equal(data.images, IMAGES)
    assert data.notes == ((note,) if note else ())


def test_splits_that_are_given_are_kept(cache: Path) -> None:
    pairs: dict[str, Any] = {"train": (IMAGES[:21], LABELS[:21]), "test": (IMAGES[21:], LABELS[21:])}
    data = load(Data.from_arrays(**pairs, classes=["x", "y", "z"]), calibrate=0)
    assert data.classes == ("x", "y", "z")
    assert list(data.splits["test"]) == list(range(21, 30))
    assert set(data.splits["train"]) | set(data.splits["valid"]) == set(range(21))
    assert load(pairs).fingerprint == load(Data.from_arrays(**pairs)).fingerprint


def test_a_loaded_data_set_is_data_too(cache: Path, embedded: Dataset) -> None:
    part = load("embedded", classes=["bag", "coat"], limit=200)
    again = load(part)
    assert (again.name, again.classes) == ("embedded", ("bag", "coat"))
    for split, rows in part.splits.items():
        assert np.array_equal(again.images[again.splits[split]], part.images[rows])
        assert np.array_equal(again.labels[again.splits[split]], part.labels[rows])


def test_it_says_how_much_memory_it_takes() -> None:
    data = Data.from_arrays(IMAGES, LABELS)
    assert data.nbytes == IMAGES.nbytes + LABELS.astype(np.int64).nbytes
    assert str(data) == "arrays: 30 images of 8x8, colour, 3 classes; 0.0 MB in memory"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: (IMAGES, LABELS[:-1]), "arrays: train has 30 images but 29 labels"),
        (lambda: (IMAGES.reshape(30, -1), LABELS), "train images must be N x H x W .* got 30x192"),
        (lambda: (FLOATS * 3 - 1, LABELS), r"must lie in 0\.\.255, or 0\.\.1 for floats, got -1"),
        (lambda: (IMAGES, LABELS - 1), "labels must be 0 to 1, got -1 for image 0"),
        (lambda: (IMAGES, LABELS + 0.5), "whole numbers, got 0.5"),
        (lambda: (IMAGES, LABELS * 0), "two classes or more, got 0"),
        (lambda: (IMAGES, LABELS * 2), "the class '1' has no training image"),
        (lambda: (list(IMAGES[:15]) + list(IMAGES[15:, :4]), LABELS), "all images must have one size"),
        (lambda: Data.from_arrays(IMAGES, LABELS, ["a", "b"]), "labels must be 0 to 1, got 2 for image 2"),
        (lambda: Data.from_arrays(IMAGES, LABELS, ["a", "b", "a"]), "each class needs a name of its own"),
        (lambda: Data.from_arrays(IMAGES[:2], LABELS[:2], list("abc")), "3 classes need as many training images"),
        (lambda: {"train": (IMAGES, LABELS), "test": (IMAGES[:, :4], LABELS)}, "one size, got 4x8x3 and 8x8x3"),
        (lambda: {"train": (IMAGES, LABELS), "tset": (IMAGES, LABELS)}, "got train, tset"),
        (lambda: Data.from_arrays(train=(IMAGES,)), "train must be a pair"),  # type: ignore[arg-type]
        (lambda: Data.from_arrays(IMAGES), "give one of the two"),
        (lambda: Data.from_arrays(IMAGES, LABELS, train=(IMAGES, LABELS)), "give one of the two"),
        (lambda: IMAGES, r"a pair \(images, labels\) or a torch Dataset with a length, got ndarray"),
        (lambda: 7, "got int"),
    ],
)
def test_faults_of_arrays_are_one_line(cache: Path, make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        source_of(make())
    assert "\n" not in str(caught.value)
    assert not cache.exists()


# --- torch data sets --------------------------------------------------------------------------------------------------


def test_a_data_set_of_pictures(cache: Path) -> None:
    data = load(Pairs([Image.fromarray(image) for image in IMAGES]))
    assert np.array_equal(data.images, IMAGES)
    assert (data.name, data.classes, data.notes) == ("pairs", Pairs.classes, ())


def test_tensors_in_the_unit_range_channels_first(cache: Path) -> None:
    tensors = torch.from_numpy(FLOATS).permute(0, 3, 1, 2)
    data = load(TensorDataset(tensors, torch.from_numpy(LABELS)))
    assert np.array_equal(data.images, IMAGES)
    assert np.array_equal(data.labels, LABELS)
    assert data.notes == ("30 images of floats in 0..1 stored as 256 levels",)


def test_tensors_of_three_pixels_are_channels_first_too() -> None:
    tensors = torch.from_numpy(IMAGES[:, :3, :3].transpose(0, 3, 1, 2).copy())
    assert np.array_equal(as_data(TensorDataset(tensors, torch.from_numpy(LABELS))).images["train"], IMAGES[:, :3, :3])


def test_a_subset_knows_the_classes_of_the_whole() -> None:
    part: Any = Subset(Pairs(), range(15))  # type: ignore[arg-type]
    data = as_data(part)
    assert data.classes == Pairs.classes
    assert data.name == "pairs"
    assert np.array_equal(data.images["train"], IMAGES[:15])


def test_data_sets_by_split() -> None:
    parts = {"train": Pairs(IMAGES[:21], LABELS[:21]), "test": Pairs(IMAGES[21:], LABELS[21:])}
    data = as_data(parts)
    assert {split: len(images) for split, images in data.images.items()} == {"train": 21, "test": 9}
    assert data.key == Data.from_dataset(parts["train"], test=parts["test"]).key
    assert data.classes == Pairs.classes


def test_gray_pictures_among_colour_ones() -> None:
    pictures = [Image.fromarray(image) for image in IMAGES]
    pictures[3] = pictures[3].convert("L")
    data = as_data(Pairs(pictures))
    assert data.images["train"].shape == IMAGES.shape
    assert data.notes == ("1 gray and 29 colour images: all read as colour",)


def test_names_as_labels() -> None:
    data = as_data(Pairs(labels=[Pairs.classes[i] for i in LABELS]))
    assert np.array_equal(data.labels["train"], LABELS)


class Flickering(Pairs):
    def __getitem__(self, i: int) -> Any:
        self.images = self.images[:, :, ::-1]
        return super().__getitem__(i)


class Torn(Pairs):
    def __getitem__(self, i: int) -> Any:
        if i == 9:
            raise OSError("broken file")
        return super().__getitem__(i)


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(Pairs())


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (Flickering(), "flickering: image 0 differs each time it is read: leave out random transforms"),
        (Torn(), "torn: image 9 cannot be read: OSError: broken file"),
        (Stream(), "a torch Dataset with a length, got Stream"),
        (Pairs(FLOATS * 4 - 2), r"image 0 must lie in 0\.\.1, got -2 to .*: leave out normalisation"),
        (Pairs([*IMAGES[:9], IMAGES[9, :4], *IMAGES[10:]]), "one size, image 9 is 4x8, image 0 8x8"),
        (Pairs(labels=LABELS + 1), "labels must be 0 to 2, got 3 for image 2"),
        (Pairs(labels=LABELS + 0.5), "image 0 must have a class number or name as its label, got .*0.5"),
        (Pairs([], []), "pairs holds no images"),
        (list(IMAGES), r"list: item 0 must be a pair \(image, label\), got ndarray"),
        ([{"image": IMAGES[0], "label": 0}], r"item 0 must be a pair \(image, label\), got dict"),
        (Pairs(IMAGES.reshape(30, -1)), "image 0 must be N x H x W"),
    ],
)
def test_faults_of_data_sets_are_one_line(cache: Path, dataset: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        source_of(dataset)
    assert "\n" not in str(caught.value)
    assert not cache.exists()


def test_only_files_of_its_own_are_taken_for_data_from_python() -> None:
    with pytest.raises(DataError, match=r"arrays.mine.npz does not exist"):
        load(Path("arrays") / "mine.npz")
