"""Image folders: one folder per class, at the top or inside `train`, `valid`, `calibrate` and `test`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import DataError
from .dataset import SPLITS, Images, Indices
from .decoded import kept_shape
from .image_files import ImageFiles, read_all
from .images import SUFFIXES
from .source import Pixels, Select, Source

SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "val": "valid",
    "valid": "valid",
    "validation": "valid",
    "calibrate": "calibrate",
    "calibration": "calibrate",
    "test": "test",
    "testing": "test",
}
NOT_SEEN = ("thumbs.db", "desktop.ini")  # files that a file manager leaves behind


def read(path: Path) -> Source:
    """List the images of a folder; nothing is decoded yet.

    Args:
        path: the folder.

    Returns:
        Labels, and pixels on demand.
    """
    tops = _folders(path)
    parts = {p: SPLIT_NAMES.get(p.name.lower(), "") for p in tops}
    inside = all(parts.values()) and "train" in parts.values()  # `train` among other names is a class: cars, trains
    if len(set(parts.values())) < len(parts) and inside:
        raise DataError(f"{path} holds one split twice: {', '.join(p.name for p in tops)}")
    roots = {name: p for name in SPLITS for p, part in parts.items() if part == name} if inside else {"train": path}
    return read_splits(path, roots)


def read_splits(path: Path, roots: Mapping[str, Path], only: Sequence[str] | None = None) -> Source:
    """List the images of folders that hold one split each.

    Args:
        path: what the folders lie in; file names begin there.
        roots: the folder of each split, `train` at least.
        only: the classes to take; None: all.

    Returns:
        Labels, and pixels on demand.
    """
    inside = [_text(p) for p in _folders(roots["train"])]
    classes = tuple(name for name in inside if only is None or name in only)
    if not classes:
        loose = any(p.suffix.lower() in SUFFIXES for p in roots["train"].iterdir())
        contents = "images but no class folders" if loose else "no class folders"
        raise DataError(f"{roots['train']} holds {contents}: put the images of each class into a folder of its own")
    files: list[str] = []  # below the folder; a `Path` for each of a million would take a gigabyte
    labels: list[int] = []
    given: dict[str, Indices] = {}
    others: list[str] = []
    for name, root in roots.items():
        start = len(files)
        for folder in _folders(root):
            called = _text(folder)
            if only is not None and called not in only:
                continue
            if called not in classes:
                raise DataError(f"{folder} is a class that {roots['train']} does not have")
            images, rest = _images(folder)
            if not images and name == "train":
                raise DataError(f"the class {called!r} has no image: {folder} holds none of {_suffixes()}")
            below = "" if folder == path else f"{folder.relative_to(path).as_posix()}/"
            files += [below + name for name in images]
            labels += [classes.index(called)] * len(images)
            others += [str(folder / name) for name in rest]
        given[name] = np.arange(start, len(files))
    notes = [f"{len(others)} files are no images and were left out, the first is {others[0]}"] if others else []
    return Source(
        name=path.resolve().name,
        path=str(path),
        labels=np.array(labels, dtype=np.int64),
        classes=classes,
        given={name: rows for name, rows in given.items() if len(rows)},
        pixels=_pixels(str(path), files),
        files=tuple(files),
        notes=tuple(notes),
        select=_selector(str(path), files),
    )


def _text(folder: Path) -> str:
    """The name of a class, which runs and models keep as text: UTF-8, whatever the locale takes names for."""
    try:
        return os.fsencode(folder.name).decode("utf-8")
    except UnicodeDecodeError:
        shown = os.fsencode(folder)
        raise DataError(f"the folder {shown!r} has a name that is not UTF-8: rename it, as it names a class") from None


def _folders(path: Path) -> list[Path]:
    return sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith((".", "__")))


def _images(folder: Path) -> tuple[list[str], list[str]]:
    """Names of image files below a class folder, and of others; hidden ones and those of a file manager are neither."""
    contents = sorted(_files(str(folder), ""), key=lambda name: name.split("/"))
    bare = {name: name.rsplit("/", 1)[-1].lower() for name in contents}
    seen = [n for n in contents if not bare[n].startswith(".") and bare[n] not in NOT_SEEN]
    images = {n for n in seen if os.path.splitext(bare[n])[1] in SUFFIXES}
    return [n for n in seen if n in images], [n for n in seen if n not in images]


def _files(folder: str, below: str) -> Iterator[str]:
    """All files below a folder. Links to files are followed, as subsets are made of them; links to folders are not."""
    try:
        entries = list(os.scandir(folder))
    except PermissionError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path, f"{below}{entry.name}/")
        elif entry.is_file():
            yield below + entry.name


def _suffixes() -> str:
    return ", ".join(sorted(SUFFIXES))


def _selector(root: str, files: list[str]) -> Select:
    def select(rows: Indices, resolution: int | None, gray: bool | None) -> ImageFiles:
        names = tuple(files[row] for row in rows)
        if resolution is not None and gray is not None:
            return ImageFiles(root, names, resolution, gray)
        side, all_gray = kept_shape(root, names)
        side = side if resolution is None else resolution
        return ImageFiles(root, names, side, all_gray if gray is None else gray, by_headers=gray is None)

    return select


def _pixels(root: str, files: list[str]) -> Pixels:
    select = _selector(root, files)

    def pixels(rows: Indices, resolution: int | None, gray: bool | None) -> tuple[Images, list[str]]:
        return read_all(select(rows, resolution, gray))

    return pixels
