"""What a data set holds, and what in it would spoil a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..result import Result
from . import SPLITS, Dataset, load
from .duplicates import Duplicates, find_duplicates
from .in_memory import DataLike
from .known import EMBEDDED

NOTED_IMBALANCE = 10  # times as many images in the largest class as in the smallest, from which on a note says so
SHOWN_CLASSES = 12  # in a summary for people


@dataclass(frozen=True)
class DataReport(Result):
    """What a data set holds, and what is odd about it."""

    name: str
    source: str
    licence: str
    images: int
    resolution: int
    channels: int
    classes: tuple[str, ...]
    counts: dict[str, list[int]]  # images by split, then by class
    mean: tuple[float, ...]
    std: tuple[float, ...]
    imbalance: float  # images of the largest class over those of the smallest, in training
    duplicates: Duplicates
    fingerprint: str
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """A summary for people."""
        licence = f", licence {self.licence}" if self.licence else ""
        colour = "gray" if self.channels == 1 else "colour"
        width = max(len(name) for name in (*self.classes[:SHOWN_CLASSES], "class"))
        head = f"  {'class':{width}}" + "".join(f"{split:>11}" for split in SPLITS)
        table = [
            f"  {name:{width}}" + "".join(f"{self.counts[split][i]:>11,}" for split in SPLITS)
            for i, name in enumerate(self.classes[:SHOWN_CLASSES])
        ]
        if len(self.classes) > SHOWN_CLASSES:
            table.append(f"  ... {len(self.classes) - SHOWN_CLASSES} more classes")
        totals = f"  {'all':{width}}" + "".join(f"{sum(self.counts[split]):>11,}" for split in SPLITS)
        about = f"{self.images:,} images of {self.resolution}x{self.resolution}, {colour}, {len(self.classes)} classes"
        notes = [f"note: {note}" for note in self.notes]
        return [
            f"{self.name} ({self.source}{licence})",
            about,
            "",
            head,
            *table,
            totals,
            *([""] if notes else []),
            *notes,
        ]


def check_data(source: DataLike = EMBEDDED, **options: Any) -> DataReport:
    """Load a data set and look for what would spoil a result.

    Args:
        source: a name, a path or data from Python, as for `load`.
        options: further arguments of `load`.

    Returns:
        What the data set holds, with a note on everything odd.
    """
    return report_on(load(source, **options))


def report_on(dataset: Dataset) -> DataReport:
    """What `check_data` says, of a data set that is loaded already.

    Args:
        dataset: any data set.

    Returns:
        What it holds, with a note on everything odd.
    """
    counts = {split: dataset.counts(split) for split in SPLITS}
    imbalance = max(counts["train"]) / min(counts["train"])
    duplicates = find_duplicates(dataset)
    notes = list(dataset.notes)
    if imbalance >= NOTED_IMBALANCE:
        notes.append(f"the largest class has {imbalance:.0f} times as many training images as the smallest")
    for pair, n in duplicates.between.items():
        first, second = pair.split("/")
        notes.append(f"{_pictures(n)} in {first} and in {second} alike")
    if duplicates.example:
        notes.append(f"for example {duplicates.example[0]} and {duplicates.example[1]}")
    for split, n in duplicates.within.items():
        notes.append(f"{split} holds {n} superfluous {'copy' if n == 1 else 'copies'}")
    if duplicates.conflicting:
        notes.append(f"{_pictures(duplicates.conflicting)} under different labels")
    return DataReport(
        name=dataset.name,
        source=dataset.source,
        licence=dataset.licence,
        images=len(dataset.images),
        resolution=dataset.resolution,
        channels=dataset.channels,
        classes=dataset.classes,
        counts=counts,
        mean=dataset.mean,
        std=dataset.std,
        imbalance=imbalance,
        duplicates=duplicates,
        fingerprint=dataset.fingerprint,
        notes=tuple(notes),
    )


def _pictures(n: int) -> str:
    return "1 picture is" if n == 1 else f"{n:,} pictures are"
