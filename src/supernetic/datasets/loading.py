"""From a name or a path to a data set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import DataError, InputError, UnknownNameError
from . import arrays, cifar, embedded, folder, sheets
from .dataset import SPLITS, Dataset, Indices, Labels
from .known import EMBEDDED, KNOWN, locate
from .source import Source
from .splits import split, subset

ARCHIVES = (".tar.gz", ".tgz", ".tar")
LARGEST_SIDE = 1024


def load(
    source: str | Path = EMBEDDED,
    *,
    resolution: int | None = None,
    gray: bool | None = None,
    classes: Sequence[str] | None = None,
    limit: int | None = None,
    valid: float = 0.1,
    calibrate: float = 0.05,
    test: float = 0.15,
    seed: int = 0,
) -> Dataset:
    """The data set at `source`: a name ("embedded", "cifar10", "fashion-mnist"), a folder, an `.npz`, an archive.

    `resolution` resizes, `gray` chooses one channel or three, `classes` keeps some, `limit` keeps a stratified subset
    of so many images in all. Splits that the source has are kept; others are cut from its training images, by share (or
    by number of images, from 1 on), alike for every class. All draws depend on `seed` only.
    """
    if resolution is not None and not 1 <= resolution <= LARGEST_SIDE:
        raise InputError(f"the side of images must be 1 to {LARGEST_SIDE} pixels, got {resolution}")
    found = read(source)
    labels, names, given = _keep(found, classes)
    if len(names) < 2:
        raise DataError(f"{found.path}: a task needs two classes or more, got {', '.join(names) or 'none'}")
    if limit is not None:
        given = subset(labels, given, limit, seed)
    rows = np.sort(np.concatenate(list(given.values())))
    given = {name: np.searchsorted(rows, part) for name, part in given.items()}
    labels = labels[rows]
    _check_counts(found, labels, names, given)
    splits = split(labels, given, {"valid": valid, "calibrate": calibrate, "test": test}, seed)
    images, notes = found.pixels(rows, resolution, gray)
    return Dataset(
        name=found.name,
        images=images,
        labels=labels,
        classes=names,
        splits=splits,
        rows=rows,
        source=found.path,
        licence=found.licence,
        files=tuple(found.files[r] for r in rows) if found.files else (),
        notes=(*found.notes, *notes, *_remarks(labels, names, splits)),
    )


def read(source: str | Path) -> Source:
    """The source behind a name or a path."""
    known = {k.name: k for k in KNOWN}
    name = str(source)
    if name == EMBEDDED:
        return embedded.read()
    if name in known:
        found = _read_path(locate(known[name]))
        return Source(**{**vars(found), "name": name, "licence": known[name].licence})
    path = Path(source)
    if not path.exists():
        if os.sep in name or "." in name:
            raise DataError(f"{path} does not exist")
        raise UnknownNameError("data set", name, known)
    return _read_path(path)


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
        found = cifar.read(path)
        if found is None:
            raise DataError(f"{path} does not hold CIFAR-10; unpack other archives into folders, one per class")
        return found
    if path.suffix == ".npz":
        return arrays.read(path)
    raise DataError(f"{path} is not a data set: a folder with one folder per class, an .npz or the CIFAR-10 archive")


def _keep(found: Source, classes: Sequence[str] | None) -> tuple[Labels, tuple[str, ...], dict[str, Indices]]:
    """Labels, names and rows of the wanted classes; labels of others are -1."""
    if classes is None:
        return found.labels, found.classes, dict(found.given)
    for name in classes:
        if name not in found.classes:
            raise UnknownNameError("class", name, found.classes)
    if len(set(classes)) < len(classes):
        raise InputError(f"a class is named twice: {', '.join(classes)}")
    new = np.full(len(found.classes), -1, dtype=np.int64)
    new[[found.classes.index(name) for name in classes]] = np.arange(len(classes))
    labels = new[found.labels]
    return labels, tuple(classes), {name: rows[labels[rows] >= 0] for name, rows in found.given.items()}


def _check_counts(found: Source, labels: Labels, names: Sequence[str], given: dict[str, Indices]) -> None:
    train = labels[given["train"]]
    if len(train) < len(names):
        raise DataError(f"{found.path}: {len(names)} classes need as many training images or more, got {len(train)}")
    empty = np.flatnonzero(np.bincount(train, minlength=len(names)) == 0)
    if len(empty):
        raise DataError(f"{found.path}: the class {names[empty[0]]!r} has no training image")


def _remarks(labels: Labels, names: Sequence[str], splits: dict[str, Indices]) -> list[str]:
    remarks = []
    for name in SPLITS:
        counts = np.bincount(labels[splits[name]], minlength=len(names))
        if not counts.any():
            remarks.append(f"the split {name} is empty")
        elif not counts.all():
            remarks.append(f"the split {name} has no image of {(counts == 0).sum()} of {len(names)} classes")
    return remarks
