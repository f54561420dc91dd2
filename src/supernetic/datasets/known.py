"""Data sets with a name: what they are, under which licence, and where a copy may lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError

CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FASHION_MNIST_CLASSES = (
    "t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip
EMBEDDED = "embedded"
IMAGENET_FOLDERS = ("imagenet", "imagenet-1k", "ILSVRC2012")
IMAGENET_HINT = "put the folders train and val there, with a folder for each class (n01440764, ...) in both"


@dataclass(frozen=True)
class Known:
    """A data set that can be asked for by name."""

    name: str
    about: str
    licence: str
    folders: tuple[str, ...] = ()  # names it may have inside a data directory; none: it comes with the package
    hint: str = ""  # how to get it


KNOWN = (
    Known(EMBEDDED, "8,000 + 2,000 images of Fashion-MNIST, 28x28 gray, 10 classes", "MIT"),
    Known(
        "fashion-mnist",
        "60,000 + 10,000 images, 28x28 gray, 10 classes",
        "MIT",
        ("fashion_mnist", "fashion-mnist"),
        "put its sheets there, or use the embedded subset",
    ),
    Known(
        "cifar10",
        "50,000 + 10,000 images, 32x32 colour, 10 classes",
        "for research; cite Krizhevsky, 2009",
        ("cifar10", "cifar-10", "cifar-10-batches-py", "cifar-10-batches-bin"),
        "fetch it with: supernetic data get cifar10",
    ),
    Known(
        "imagenet",
        "1,281,167 + 50,000 photographs, read at 224x224, 1,000 classes; val is the test split",
        "for research; see image-net.org",
        IMAGENET_FOLDERS,
        IMAGENET_HINT,
    ),
    Known(
        "imagenet100",
        "the 100 classes of ImageNet that ScaleNet uses, read at 224x224; taken from imagenet if that is there",
        "for research; see image-net.org",
        ("imagenet100", "imagenet-100", *IMAGENET_FOLDERS),
        IMAGENET_HINT,
    ),
    *(
        Known(
            name,
            f"{about}, 28x28 gray, {classes} classes",
            "for research; cite Cohen et al., 2017",
            ("emnist", "EMNIST"),
            "put EMNIST's files there, unpacked from its matlab.zip or gzip.zip (www.nist.gov, EMNIST)",
        )
        for name, about, classes in (
            ("emnist", "EMNIST balanced, 112,800 + 18,800 letters and digits", 47),
            ("emnist-byclass", "697,932 + 116,323 letters and digits", 62),
            ("emnist-bymerge", "697,932 + 116,323 letters and digits", 47),
            ("emnist-letters", "124,800 + 20,800 letters", 26),
            ("emnist-digits", "240,000 + 40,000 digits", 10),
            ("emnist-mnist", "60,000 + 10,000 digits", 10),
        )
    ),
)


def places() -> list[Path]:
    """Directories in which named data sets are looked for: those of `$SUPERNETIC_DATA`, then `data`."""
    chosen = os.environ.get("SUPERNETIC_DATA", "")
    return [Path(p) for p in [*filter(None, chosen.split(os.pathsep)), "data"]]


def find(known: Known) -> Path | None:
    """Where a copy of a data set lies, if there is one.

    Args:
        known: the data set.

    Returns:
        Its folder or None.
    """
    return next((p / f for p in places() for f in known.folders if (p / f).is_dir()), None)


def locate(known: Known) -> Path:
    """Where a copy of a data set lies; an error that says how to get it if there is none.

    Args:
        known: the data set.

    Returns:
        Its folder.
    """
    place = find(known)
    if place is None:
        looked = ", ".join(str(p / known.folders[0]) for p in places())
        raise DataError(f"the data set {known.name} is not in {looked}: {known.hint}")
    return place
