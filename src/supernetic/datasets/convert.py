"""Makes the embedded data set: `python -m supernetic.datasets.convert FOLDER_OF_SHEETS`.

As many images of each class, drawn with a fixed seed, in the order of the original, as one lossless sheet.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from .dataset import Images, Indices, Labels
from .embedded import DATA_FOLDER, LABELS_FILE, SHEET_FILE
from .sheets import read

IMAGE_COUNTS = {"train": 8_000, "test": 2_000}
SHEET_COLUMNS = 100
SEED = 20170825  # the day Fashion-MNIST was published


def choose(labels: Labels, count: int) -> Indices:
    """Rows with equally many images of each class.

    Args:
        labels: of all images.
        count: how many rows.

    Returns:
        Rows, ascending.
    """
    rng = np.random.default_rng(SEED)
    classes = np.unique(labels)
    chosen = [rng.permutation(np.flatnonzero(labels == c))[: count // len(classes)] for c in classes]
    return np.sort(np.concatenate(chosen))


def sheet_of(images: Images, columns: int) -> Images:
    """Tiles side by side, row by row.

    Args:
        images: N x H x W x 1.
        columns: tiles in a row of the sheet.

    Returns:
        One gray picture, H x W.
    """
    n, resolution = images.shape[:2]
    rows = images[..., 0].reshape(n // columns, columns, resolution, resolution).swapaxes(1, 2)
    return np.ascontiguousarray(rows.reshape(n // columns * resolution, columns * resolution))


def select(source: Path) -> tuple[Images, dict[str, Labels]]:
    """The images and labels of the subset.

    Args:
        source: the folder of Fashion-MNIST's sheets.

    Returns:
        The images, those for training first, and the labels by split.
    """
    whole = read(source)
    rows = {split: whole.given[split][choose(whole.labels[whole.given[split]], n)] for split, n in IMAGE_COUNTS.items()}
    images, _ = whole.pixels(np.concatenate(list(rows.values())), None, None)
    return images, {split: whole.labels[r] for split, r in rows.items()}


def main(source: Path, target: Path = DATA_FOLDER) -> dict[str, str]:
    """Write the sheet and its labels.

    Args:
        source: the folder of Fashion-MNIST's sheets.
        target: the folder to write to.

    Returns:
        The SHA-256 of each file, for `embedded.py` and the README beside them.
    """
    images, labels = select(source)
    target.mkdir(parents=True, exist_ok=True)
    temporary = target / "temporary"
    Image.fromarray(sheet_of(images, SHEET_COLUMNS)).save(temporary, format="PNG", optimize=True)
    os.replace(temporary, target / SHEET_FILE[0])
    with open(temporary, "wb") as file:
        np.savez_compressed(file, **{split: part.astype(np.uint8) for split, part in labels.items()})  # type: ignore[arg-type]
    os.replace(temporary, target / LABELS_FILE[0])
    return {name: hashlib.sha256((target / name).read_bytes()).hexdigest() for name in (SHEET_FILE[0], LABELS_FILE[0])}


if __name__ == "__main__":
    for name, digest in main(Path(sys.argv[1])).items():
        print(digest, name)
