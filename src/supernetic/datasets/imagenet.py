"""ImageNet, and the 100 classes of it that ScaleNet's ablations use, from the folders that everybody has.

Paper: Russakovsky et al., "ImageNet Large Scale Visual Recognition Challenge", 2015, arXiv 1409.0575. The 100 classes
are those of Tian, Krishnan and Isola, "Contrastive Multiview Coding", 2020, arXiv 1906.05849, which ScaleNet's
supplement refers to: the list that was published with its code, sorted.

The official test labels are not public, so `val` is the test split here, as in most papers, and steers nothing.
Validation images are cut from `train`.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import DataError
from . import folder
from .known import Known, locate
from .source import Source

NAME = "imagenet"  # and the beginning of the other one's
RESOLUTION_PIXELS = 224
IMAGENET_100 = (
    "n01558993", "n01692333", "n01729322", "n01735189", "n01749939", "n01773797", "n01820546", "n01855672",
    "n01978455", "n01980166", "n01983481", "n02009229", "n02018207", "n02085620", "n02086240", "n02086910",
    "n02087046", "n02089867", "n02089973", "n02090622", "n02091831", "n02093428", "n02099849", "n02100583",
    "n02104029", "n02105505", "n02106550", "n02107142", "n02108089", "n02109047", "n02113799", "n02113978",
    "n02114855", "n02116738", "n02119022", "n02123045", "n02138441", "n02172182", "n02231487", "n02259212",
    "n02326432", "n02396427", "n02483362", "n02488291", "n02701002", "n02788148", "n02804414", "n02859443",
    "n02869837", "n02877765", "n02974003", "n03017168", "n03032252", "n03062245", "n03085013", "n03259280",
    "n03379051", "n03424325", "n03492542", "n03494278", "n03530642", "n03584829", "n03594734", "n03637318",
    "n03642806", "n03764736", "n03775546", "n03777754", "n03785016", "n03787032", "n03794056", "n03837869",
    "n03891251", "n03903868", "n03930630", "n03947888", "n04026417", "n04067472", "n04099969", "n04111531",
    "n04127249", "n04136333", "n04229816", "n04238763", "n04336792", "n04418357", "n04429376", "n04435653",
    "n04485082", "n04493381", "n04517823", "n04589890", "n04592741", "n07714571", "n07715103", "n07753275",
    "n07831146", "n07836838", "n13037406", "n13040303",
)  # fmt: skip


def read(known: Known) -> Source:
    """ImageNet or its 100 classes, from where a copy lies.

    Args:
        known: which of the two.

    Returns:
        Labels, and files that are decoded on demand: 224 pixels and colour, unless something else is asked for.
    """
    path = locate(known)
    roots = {"train": path / "train", "test": path / "val"}
    for root in roots.values():
        if not root.is_dir():
            raise DataError(f"{path} has no folder {root.name}: {known.hint}")
        if not any(p.is_dir() for p in root.iterdir()):
            raise DataError(f"{root} has no folders of classes: {known.hint}")
    only, notes = _classes(known, path / "train") if known.name == "imagenet100" else (None, ())
    origin = folder.read_splits(path, roots, only)
    return Source(
        name=known.name,
        path=origin.path,
        labels=origin.labels,
        classes=origin.classes,
        given=origin.given,
        pixels=origin.pixels,
        licence=known.licence,
        files=origin.files,
        notes=(*origin.notes, *notes),
        select=origin.select,
        resolution=RESOLUTION_PIXELS,
        gray=False,
    )


def _classes(known: Known, train: Path) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """The classes to take of a folder, None for all of them; and what must be said about them."""
    there = {p.name for p in train.iterdir() if p.is_dir() and not p.name.startswith((".", "__"))}
    missing = [name for name in IMAGENET_100 if name not in there]
    if not missing:
        return IMAGENET_100, ()
    if len(there) == len(IMAGENET_100):
        return None, (f"{len(missing)} of the 100 classes are not those of Tian et al., which ScaleNet names",)
    raise DataError(f"{train} lacks {missing[0]}, one of the 100 classes, and has {len(there)} others: {known.hint}")
