"""Images with boxes: what was read of a data set, in the pixels of the images, and what was found on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from ..datasets.images import open_image
from ..errors import DataError

Box = tuple[float, float, float, float]  # left, top, right, bottom

TOLERANCE = 0.01  # of the image's side, that a box may stick out of it; such boxes are cut
ASPECT_TOLERANCE = 0.02  # by which the proportions of an image may differ from those that its annotation states
SPLITS = ("train", "valid", "test")
VALID_SHARE, TEST_SHARE = 0.15, 0.15  # of the images, where a data set does not say which
EXIF_ORIENTATION, TURNED = 0x0112, (5, 6, 7, 8)  # orientations in which width and height change places


class Object(NamedTuple):
    """A box of an annotation, in the coordinates of its file."""

    name: str  # of its class
    box: Box
    ignored: bool = False  # VOC's `difficult`, COCO's `iscrowd`: neither trained on nor counted


@dataclass(frozen=True)
class Annotation:
    """What a file says of one image.

    Args:
        image: The image.
        file: Where the annotation is, for messages.
        size: Width and height that the boxes refer to; None if the file does not say.
        objects: The boxes.
    """

    image: Path
    file: str
    size: tuple[int, int] | None
    objects: tuple[Object, ...]


@dataclass(frozen=True, eq=False)
class Annotated:
    """An image and its boxes in pixels of that image."""

    path: Path
    width: int
    height: int
    boxes: npt.NDArray[np.float32]  # N x 4
    labels: npt.NDArray[np.int64]
    ignored: npt.NDArray[np.bool_]

    def image(self) -> Image.Image:
        """The pixels, upright, in colour."""
        return open_image(self.path)[0].convert("RGB")


@dataclass(frozen=True, eq=False)
class DetectionData:
    """A data set: images by split, and the names of the classes.

    Args:
        name: What it is called.
        classes: In the order of labels.
        splits: Images of `train`, `valid` and `test`.
        notes: What a reader should know: what was cut or left out, and where splits come from.
    """

    name: str
    classes: tuple[str, ...]
    splits: Mapping[str, tuple[Annotated, ...]]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if all(i.ignored.all() for i in self.splits["train"]):
            raise DataError(f"{self.name}: the training images have no boxes to train on")

    @property
    def fingerprint(self) -> str:
        """A digest of names and sizes of images, their boxes and splits."""
        digest = hashlib.sha256(repr(self.classes).encode())
        for split in SPLITS:
            for item in self.splits[split]:
                head = f"{split}\0{item.path.name}\0{item.path.stat().st_size}\0{item.width}x{item.height}\0"
                digest.update(head.encode("utf-8", "surrogateescape"))
                digest.update(item.boxes.tobytes() + item.labels.tobytes() + item.ignored.tobytes())
        return digest.hexdigest()

    def summary(self) -> dict[str, Any]:
        """For the record of a run."""
        return {
            "name": self.name,
            "classes": list(self.classes),
            "images": {split: len(items) for split, items in self.splits.items()},
            "boxes": {split: sum(len(i.labels) for i in items) for split, items in self.splits.items()},
            "fingerprint": self.fingerprint,
        }


def settle(
    name: str, classes: Sequence[str] | None, parts: Mapping[str, Sequence[Annotation]], *, seed: int = 0
) -> DetectionData:
    """Check annotations and bring them to the pixels of their images.

    Args:
        name: What the data set is called.
        classes: Those that there may be; by default those of the training images.
        parts: Annotations by split; those that all come from one place are under "".
        seed: Of the splits that the data set does not name.

    Returns:
        The data.
    """
    parts, said = _split(parts, seed)
    known = sorted({o.name for a in parts["train"] for o in a.objects}) if classes is None else list(classes)
    label = {c: i for i, c in enumerate(known)}
    found: dict[str, list[str]] = {"cut": [], "flat": []}
    splits = {s: tuple(_settle_one(a, label, found) for a in parts[s]) for s in SPLITS}
    for split in SPLITS:
        if not splits[split]:
            raise DataError(f"{name}: the split {split} holds no image")
    empty = sum(not len(i.labels) for items in splits.values() for i in items)
    notes = [*said, *(_note(found["flat"], "without area was left out", "without area were left out"))]
    notes += _note(found["cut"], "was cut to its image", "were cut to their images")
    notes += [f"{empty} image{'s have' if empty > 1 else ' has'} no box"] if empty else []
    return DetectionData(name, tuple(known), splits, tuple(notes))


def _note(files: Sequence[str], one: str, many: str) -> list[str]:
    if not files:
        return []
    return [f"1 box {one}, in {files[0]}" if len(files) == 1 else f"{len(files)} boxes {many}, the first in {files[0]}"]


def _split(parts: Mapping[str, Sequence[Annotation]], seed: int) -> tuple[dict[str, Sequence[Annotation]], list[str]]:
    """All three splits, and how those came about that the data set does not name.

    Training images are never taken for validation or test where the data name some. What is missing is drawn.
    """
    have = {s: parts[s] for s in SPLITS if parts.get(s)}
    if not have:
        have = {"train": parts.get("", ())}
    if "train" not in have:
        raise DataError(f"the data name no training images, only {' and '.join(have)}")
    said = []
    if "test" not in have and "valid" in have:
        have["test"] = have.pop("valid")
        said.append("the validation images of the data are used as test images")
    for split, share in (("test", TEST_SHARE), ("valid", VALID_SHARE)):
        if split not in have:
            rest, drawn = _draw(have["train"], share, seed)
            have |= {"train": rest, split: drawn}
            said.append(
                f"{len(drawn)} {'validation' if split == 'valid' else 'test'} images were drawn from the others"
            )
    return have, said


def _draw(items: Sequence[Annotation], share: float, seed: int) -> tuple[list[Annotation], list[Annotation]]:
    if len(items) < 3:
        raise DataError(f"at least 3 images are needed to train, validate and test, got {len(items)}")
    count = max(1, round(share * len(items)))
    drawn = set(np.random.default_rng([seed, len(items)]).permutation(len(items))[:count].tolist())
    parts: tuple[list[Annotation], list[Annotation]] = ([], [])
    for i, item in enumerate(items):
        parts[i in drawn].append(item)
    return parts


def _settle_one(annotation: Annotation, label: Mapping[str, int], found: Mapping[str, list[str]]) -> Annotated:
    width, height = upright_size(annotation.image)
    across, down = _scales(annotation, width, height)
    boxes, labels, ignored = [], [], []
    for thing in annotation.objects:
        if thing.name not in label:
            rule = f"its class must be one of the training images': {', '.join(label)}"
            raise DataError(f"{annotation.file}: {rule}, got {thing.name!r}")
        box = _inside(annotation, thing, width, height, across, down)
        if box != tuple(_scaled(thing.box, across, down)):
            found["cut"].append(Path(annotation.file).name)
        if box[2] <= box[0] or box[3] <= box[1]:
            found["flat"].append(Path(annotation.file).name)
            continue
        boxes.append(box)
        labels.append(label[thing.name])
        ignored.append(thing.ignored)
    return Annotated(
        annotation.image, width, height, np.array(boxes, np.float32).reshape(-1, 4), np.array(labels, np.int64),
        np.array(ignored, np.bool_),
    )  # fmt: skip


def _scales(annotation: Annotation, width: int, height: int) -> tuple[float, float]:
    """From the annotation's pixels to the image's: images that were resized keep their annotations."""
    if annotation.size is None:
        return 1.0, 1.0
    across, down = width / annotation.size[0], height / annotation.size[1]
    if abs(across / down - 1) > ASPECT_TOLERANCE:
        said = "{}x{}".format(*annotation.size)
        raise DataError(
            f"{annotation.file}: the size must have the proportions of {annotation.image.name}, which is "
            f"{width}x{height}, got {said}"
        )
    return across, down


def _scaled(box: Box, across: float, down: float) -> Box:
    return box[0] * across, box[1] * down, box[2] * across, box[3] * down


def _inside(annotation: Annotation, thing: Object, width: int, height: int, across: float, down: float) -> Box:
    """The box in pixels of the image, cut to it; one that lies outside is refused."""
    if not all(map(isfinite, thing.box)):
        raise DataError(f"{annotation.file}: a box must have four finite numbers, got {_shown(thing.box)}")
    if thing.box[2] < thing.box[0] or thing.box[3] < thing.box[1]:
        raise DataError(f"{annotation.file}: a box must begin before it ends, got {_shown(thing.box)}")
    left, top, right, bottom = _scaled(thing.box, across, down)
    slack_x, slack_y = max(1.0, TOLERANCE * width), max(1.0, TOLERANCE * height)
    if left < -slack_x or top < -slack_y or right > width + slack_x or bottom > height + slack_y:
        size = "{}x{}".format(*(annotation.size or (width, height)))
        raise DataError(f"{annotation.file}: a box must lie within its image of {size}, got {_shown(thing.box)}")
    return (
        min(max(left, 0.0), float(width)), min(max(top, 0.0), float(height)),
        max(min(right, float(width)), 0.0), max(min(bottom, float(height)), 0.0),
    )  # fmt: skip


def _shown(box: Sequence[float]) -> str:
    return ", ".join(f"{v:g}" for v in box)


def upright_size(path: Path) -> tuple[int, int]:
    """Width and height of an image as it is shown, from its header."""
    try:
        with Image.open(path) as image:
            width, height = image.size
            turned = image.getexif().get(EXIF_ORIENTATION) in TURNED
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except Exception:  # damaged headers raise anything; decoding says what is wrong
        return open_image(path)[0].size
    return (height, width) if turned else (width, height)


def take(data: DetectionData, limit: int, seed: int) -> DetectionData:
    """A random subset of so many training images; validation and test images in proportion."""
    share = limit / len(data.splits["train"])

    def some(items: tuple[Annotated, ...]) -> tuple[Annotated, ...]:
        count = min(len(items), max(1, round(share * len(items))))
        rows: Callable[..., Any] = np.random.default_rng([seed, len(items)]).permutation
        return tuple(items[i] for i in sorted(rows(len(items))[:count].tolist()))

    return replace(data, splits={s: some(items) for s, items in data.splits.items()})
