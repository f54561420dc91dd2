"""Image folders: one folder per class, at the top or inside `train`, `valid`, `calibrate` and `test`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image

from ..errors import DataError
from .dataset import SPLITS, Images, Indices
from .images import SUFFIXES, as_array, open_image, size_of, square
from .source import Pixels, Source

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
SHOWN_FAULTS = 3  # unreadable files that an error names


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
    classes = tuple(p.name for p in _folders(roots["train"]))
    if not classes:
        loose = any(p.suffix.lower() in SUFFIXES for p in roots["train"].iterdir())
        contents = "images but no class folders" if loose else "no class folders"
        raise DataError(f"{roots['train']} holds {contents}: put the images of each class into a folder of its own")
    files: list[Path] = []
    labels: list[int] = []
    given: dict[str, Indices] = {}
    others: list[Path] = []
    for name, root in roots.items():
        start = len(files)
        for folder in _folders(root):
            if folder.name not in classes:
                raise DataError(f"{folder} is a class that {roots['train']} does not have")
            images, rest = _images(folder)
            if not images and name == "train":
                raise DataError(f"the class {folder.name!r} has no image: {folder} holds none of {_suffixes()}")
            files += images
            labels += [classes.index(folder.name)] * len(images)
            others += rest
        given[name] = np.arange(start, len(files))
    notes = [f"{len(others)} files are no images and were left out, the first is {others[0]}"] if others else []
    return Source(
        name=path.resolve().name,
        path=str(path),
        labels=np.array(labels, dtype=np.int64),
        classes=classes,
        given={name: rows for name, rows in given.items() if len(rows)},
        pixels=_pixels(files),
        files=tuple(str(f.relative_to(path)) for f in files),
        notes=tuple(notes),
    )


def _folders(path: Path) -> list[Path]:
    return sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith((".", "__")))


def _images(folder: Path) -> tuple[list[Path], list[Path]]:
    """Image files below a class folder, and other files; hidden ones and thumbnails of a file manager are neither."""
    contents = sorted(p for p in folder.rglob("*") if p.is_file())
    seen = [p for p in contents if not p.name.startswith(".") and p.name.lower() not in ("thumbs.db", "desktop.ini")]
    return [p for p in seen if p.suffix.lower() in SUFFIXES], [p for p in seen if p.suffix.lower() not in SUFFIXES]


def _suffixes() -> str:
    return ", ".join(sorted(SUFFIXES))


def _pixels(files: list[Path]) -> Pixels:
    def pixels(rows: Indices, resolution: int | None, gray: bool | None) -> tuple[Images, list[str]]:
        paths = [files[row] for row in rows]
        if resolution is None:
            resolution = int(np.median([min(size) for p in paths if (size := size_of(p))] or [1]))
        images: list[Image.Image] = []
        faults: list[str] = []
        changes: Counter[str] = Counter()
        sizes: Counter[tuple[int, int]] = Counter()
        for path in paths:
            try:
                image, change = open_image(path)
            except DataError as error:
                faults.append(str(error))
                continue
            changes[change] += 1
            sizes[image.size] += 1
            images.append(square(image, resolution))
        if faults:
            more = f" (and {len(faults) - SHOWN_FAULTS} more)" if len(faults) > SHOWN_FAULTS else ""
            raise DataError("; ".join(faults[:SHOWN_FAULTS]) + more)
        notes = [f"{n} {change}" for change, n in sorted(changes.items()) if change]
        if set(sizes) != {(resolution, resolution)}:
            notes.append(f"{_range(sizes)}: cut to the centre and resized to {resolution}x{resolution}")
        modes = Counter(image.mode for image in images)
        gray = set(modes) == {"L"} if gray is None else gray
        if len(modes) > 1:
            both = f"{modes['L']} gray and {modes['RGB']} colour images"
            notes.append(f"{both}: all read as {'gray' if gray else 'colour'}")
        return as_array(images, resolution, gray), notes

    return pixels


def _range(sizes: Counter[tuple[int, int]]) -> str:
    low, high = min(sizes, key=lambda s: s[0] * s[1]), max(sizes, key=lambda s: s[0] * s[1])
    if len(sizes) == 1:
        return f"images are {low[1]}x{low[0]}"
    return f"images of {len(sizes)} sizes, {low[1]}x{low[0]} to {high[1]}x{high[0]}"
