"""From a name or a path to a data set."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, InputError, UnknownNameError
from ..progress import Event, OnEvent, ignore
from . import arrays, cifar, embedded, emnist, folder, imagenet, sheets
from .dataset import SPLITS, Dataset, Indices, Labels, stored_images
from .image_files import read_all
from .in_memory import DataLike, source_of, was_written
from .known import EMBEDDED, KNOWN, locate
from .memory import memory_limit, show_bytes
from .source import Source
from .splits import check_classes, check_training_images, split, subset
from .stored import StoredImages

ARCHIVES = (".tar.gz", ".tgz", ".tar")
LARGEST_RESOLUTION = 1024  # pixels
Normalisation = Sequence[Sequence[float]]  # means and deviations
VALID_SHARE = 0.1  # of the training images, where there are no validation images


def load(
    source: DataLike = EMBEDDED,
    *,
    resolution: int | None = None,
    gray: bool | None = None,
    classes: Sequence[str] | None = None,
    limit: int | None = None,
    valid: float | None = None,
    calibrate: float = 0.05,
    test: float = 0.15,
    seed: int = 0,
    normalisation: Normalisation | None = None,
    on_event: OnEvent = ignore,
) -> Dataset:
    """A data set with its four splits.

    Splits that the source has are kept; others are cut from its training images, alike for every class. All draws
    depend on `seed` only. Images are in memory; those of a folder stay in their files if they would take more than the
    limit (`memory.memory_limit`). Nothing else differs between the two.

    Args:
        source: a name ("embedded", "cifar10", "imagenet", ...), a folder, an `.npz`, an archive; or data from Python: a
            pair (images, labels), a torch data set, `Data`.
        resolution: resize images to so many pixels.
        gray: True for one channel, False for three; None: as the images are.
        classes: keep these classes alone, in this order.
        limit: keep a stratified subset of so many images in all.
        valid: share of the validation split, a tenth by default; from 1 on, a number of images.
        calibrate: the same for the calibration split.
        test: the same for the test split.
        seed: of all draws.
        normalisation: means and deviations per channel, for pixels in 0..1, that a pretrained network wants; by default
            those of the training images.
        on_event: receives what is done with images that do not fit into memory.

    Returns:
        The data set.
    """
    found = outline(
        source, resolution=resolution, gray=gray, classes=classes, limit=limit, valid=valid, calibrate=calibrate,
        test=test, seed=seed, normalisation=normalisation,
    )  # fmt: skip
    undecoded = stored_images(found.images)
    if undecoded is None:
        return found
    allowed = memory_limit()
    if undecoded.nbytes > allowed.size:
        return _surveyed(found, undecoded, f"{show_bytes(allowed.size)} ({allowed.reason})", on_event)
    images, notes = read_all(undecoded.files)
    return replace(found, images=images, notes=(*found.notes, *notes))


def _surveyed(dataset: Dataset, undecoded: StoredImages, allowed: str, on_event: OnEvent) -> Dataset:
    """Images that stay in their files, after one look at all of them."""
    from .survey import Task, survey

    reason = f"{show_bytes(undecoded.nbytes)} of images are above the limit for memory, {allowed}"
    on_event(Event("prepare", reason))
    images: Any
    images, notes = survey(undecoded, Task(dataset.classes, dataset.labels, dataset.splits), on_event)
    return replace(dataset, images=images, notes=(*dataset.notes, *notes, reason))


def outline(
    source: DataLike = EMBEDDED,
    *,
    resolution: int | None = None,
    gray: bool | None = None,
    classes: Sequence[str] | None = None,
    limit: int | None = None,
    valid: float | None = None,
    calibrate: float = 0.05,
    test: float = 0.15,
    seed: int = 0,
    normalisation: Normalisation | None = None,
) -> Dataset:
    """The data set that `load` gives, but images that have a file each are not decoded: quick, for a first look.

    Args:
        source: as for `load`, like all that follows.
        resolution: of the images.
        gray: True for one channel, False for three; None: as the headers say.
        classes: that are kept.
        limit: images in all.
        valid: share or number of validation images.
        calibrate: the same for the calibration split.
        test: the same for the test split.
        seed: of all draws.
        normalisation: of the images.

    Returns:
        The data set; its images are read from their files whenever they are asked for.
    """
    if resolution is not None and not 1 <= resolution <= LARGEST_RESOLUTION:
        raise InputError(f"the resolution of images must be 1 to {LARGEST_RESOLUTION} pixels, got {resolution}")
    origin = read(source)
    if valid is not None and "valid" in origin.given:
        raise InputError(f"{origin.path} has validation images of its own: their number cannot be set, got {valid:g}")
    labels, names, given = _keep(origin, classes)
    check_classes(origin.path, names)
    if limit is not None:
        given = subset(labels, given, limit, seed)
    rows = np.sort(np.concatenate(list(given.values())))
    given = {name: np.searchsorted(rows, part) for name, part in given.items()}
    labels = labels[rows]
    check_training_images(origin.path, labels[given["train"]], names)
    shares = {"valid": VALID_SHARE if valid is None else valid, "calibrate": calibrate, "test": test}
    splits = split(labels, given, shares, seed)
    resolution = origin.resolution if resolution is None else resolution
    gray = origin.gray if gray is None else gray
    images: Any
    if origin.select is not None:
        images, notes = StoredImages.of_files(origin.select(rows, resolution, gray)), list[str]()
    else:
        images, notes = origin.pixels(rows, resolution, gray)
    return Dataset(
        name=origin.name,
        images=images,
        labels=labels,
        classes=names,
        splits=splits,
        rows=rows,
        source=origin.path,
        licence=origin.licence,
        files=tuple(origin.files[r] for r in rows) if origin.files else (),
        notes=(*origin.notes, *notes, *_remarks(labels, names, splits)),
        normalisation=None if normalisation is None else (tuple(normalisation[0]), tuple(normalisation[1])),
    )


def read(source: DataLike) -> Source:
    """The source behind a name, a path or data from Python.

    Args:
        source: as for `load`.

    Returns:
        Labels, and pixels on demand.
    """
    source = source_of(source)
    by_name = {k.name: k for k in KNOWN}
    name = str(source)
    if name == EMBEDDED:
        return embedded.read()
    if name in by_name and name.startswith(imagenet.NAME):
        return imagenet.read(by_name[name])
    if name in by_name and name.startswith(emnist.NAME):
        return emnist.read(by_name[name])
    if name in by_name:
        origin = _read_path(locate(by_name[name]))
        return Source(**{**vars(origin), "name": name, "licence": by_name[name].licence})
    path = Path(source)
    if not path.exists():
        raise _missing(path, by_name)
    return _read_path(path)


def _missing(path: Path, by_name: Iterable[str]) -> DataError | UnknownNameError:
    if was_written(path):
        return DataError(f"{path} held data from Python and is gone: call the job again with the same data")
    if os.sep in str(path) or "." in str(path):
        return DataError(f"{path} does not exist")
    return UnknownNameError("data set", str(path), by_name)


def _read_path(path: Path) -> Source:
    if path.is_dir():
        inside = list(path.iterdir())
        if not inside:
            raise DataError(f"{path} is empty")
        if (path / "labels.npz").is_file():
            return sheets.read(path)
        archives = [p for p in inside if p.name.endswith(ARCHIVES)]
        return cifar.read(path) or (cifar.read(archives[0]) if len(archives) == 1 else None) or folder.read(path)
    if path.name.endswith(ARCHIVES):
        origin = cifar.read(path)
        if origin is None:
            raise DataError(f"{path} does not hold CIFAR-10; unpack other archives into folders, one per class")
        return origin
    if path.suffix == ".npz":
        return arrays.read(path)
    raise DataError(f"{path} is not a data set: a folder with one folder per class, an .npz or the CIFAR-10 archive")


def _keep(origin: Source, classes: Sequence[str] | None) -> tuple[Labels, tuple[str, ...], dict[str, Indices]]:
    """Labels, names and rows of the wanted classes; labels of others are -1."""
    if classes is None:
        return origin.labels, origin.classes, dict(origin.given)
    for name in classes:
        if name not in origin.classes:
            raise UnknownNameError("class", name, origin.classes)
    if len(set(classes)) < len(classes):
        raise InputError(f"a class is named twice: {', '.join(classes)}")
    new = np.full(len(origin.classes), -1, dtype=np.int64)
    new[[origin.classes.index(name) for name in classes]] = np.arange(len(classes))
    labels = new[origin.labels]
    return labels, tuple(classes), {name: rows[labels[rows] >= 0] for name, rows in origin.given.items()}


def _remarks(labels: Labels, names: Sequence[str], splits: dict[str, Indices]) -> list[str]:
    remarks = []
    for name in SPLITS:
        counts = np.bincount(labels[splits[name]], minlength=len(names))
        if not counts.any():
            remarks.append(f"the split {name} is empty")
        elif not counts.all():
            remarks.append(f"the split {name} has no image of {(counts == 0).sum()} of {len(names)} classes")
    return remarks
