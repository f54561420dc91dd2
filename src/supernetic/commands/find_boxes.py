"""`find_boxes`: objects in images, by a detector; on the command line it is `predict` with a detector's directory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, InputError, UnknownNameError
from ..result import Result
from ..runs.files import DETECTOR_RECORD, MODEL_ONNX

if TYPE_CHECKING:
    from PIL.Image import Image

    from ..detection.evaluation import Detections

DETECTOR_ENGINES = ("torch", "onnx")
LISTED = 6  # boxes of an image that a line names


@dataclass(frozen=True)
class FoundBox:
    """An object in an image: its class, how sure the detector is, and left, top, right, bottom in pixels."""

    name: str
    score: float
    box: tuple[float, float, float, float]


@dataclass(frozen=True)
class ImageBoxes:
    """All objects in one image, the surest first."""

    image: str
    boxes: tuple[FoundBox, ...]


@dataclass(frozen=True)
class FoundBoxes(Result):
    """What a detector finds in images, in the order given."""

    detector: str
    engine: str
    threshold: float  # the score from which boxes are listed
    images: tuple[ImageBoxes, ...]

    def lines(self) -> list[str]:
        """One line per image: how many objects of each class, then the surest boxes."""
        return [f"{_printable(i.image)}  {_counts(i)}" for i in self.images]


def is_detector(path: str | PathLike[str]) -> bool:
    """Whether there is a detector at this path, and not a model that classifies."""
    return (Path(path) / DETECTOR_RECORD).is_file()


def find_boxes(
    model: str | PathLike[str],
    images: Sequence[str | Path],
    *,
    top: int | None = None,
    engine: str = "torch",
    draw: str | Path | None = None,
) -> FoundBoxes:
    """Find objects in images; they are prepared as the training images were.

    Args:
        model: The directory of a detector, `RUN/detector`.
        images: Files, or folders with all folders inside.
        top: Boxes per image at most, the surest first. By default all that are sure enough.
        engine: `torch`, or `onnx` for the detector's ONNX file.
        draw: A folder for images with the boxes drawn into them.

    Returns:
        The boxes.
    """
    from ..datasets.images import open_image
    from ..detection.directory import read_detector_card
    from ..detection.pictures import draw_boxes

    directory = Path(model)
    if top is not None and top < 1:
        raise InputError(f"top must be 1 or more, got {top}")
    if engine not in DETECTOR_ENGINES:
        raise UnknownNameError("engine of a detector", engine, DETECTOR_ENGINES)
    files = [file for item in images for file in _files(Path(item))]
    if not files:
        raise InputError("predict needs an image or a folder of images")
    _, card = read_detector_card(directory)
    run = _engine(directory, engine)
    folder = None if draw is None else _folder(Path(draw))
    found = []
    for file in files:
        image = open_image(file)[0].convert("RGB")
        detections = run(image).above(card.threshold)
        boxes = tuple(_boxes(detections, card.classes))[:top]
        found.append(ImageBoxes(str(file), boxes))
        if folder is not None:
            draw_boxes(image, detections.first(len(boxes)), card.classes, folder / f"{file.stem}.png")
    return FoundBoxes(card.name, engine, card.threshold, tuple(found))


def _files(path: Path) -> list[Path]:
    from ..datasets.images import SUFFIXES

    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix.lower() in SUFFIXES)
        if not files:
            raise DataError(f"{path} holds no image")
        return files
    if not path.exists():
        raise DataError(f"{path} does not exist")
    return [path]


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {path} cannot be made: {error.strerror or error}") from None
    return path


def _engine(directory: Path, engine: str) -> Callable[[Image], Detections]:
    """From an image to what is found in it, in its pixels."""
    from ..detection.batches import as_tensor
    from ..detection.directory import load_detector, read_detector_card
    from ..detection.evaluation import in_pixels_of

    if engine == "onnx":
        from ..detection.onnx import detect_by_onnx
        from ..exporters.onnx import session

        spec, _ = read_detector_card(directory)
        if not (directory / MODEL_ONNX).is_file():
            raise InputError(f"{directory} has no {MODEL_ONNX}: use the engine torch")
        reader = session(directory / MODEL_ONNX)

        def by_file(image: Image) -> Detections:
            pixels = as_tensor(image, spec.image_size)
            return in_pixels_of(image.size, pixels, detect_by_onnx(reader, pixels, spec.mean))

        return by_file

    import torch

    from ..detection.evaluation import plain_detections

    detector, spec, _ = load_detector(directory)

    def by_torch(image: Image) -> Detections:
        pixels = as_tensor(image, spec.image_size)
        with torch.inference_mode():
            (found,) = detector([pixels])
        return in_pixels_of(image.size, pixels, plain_detections(found))

    return by_torch


def _boxes(found: Detections, classes: Sequence[str]) -> list[FoundBox]:
    rows: list[Any] = list(zip(found.boxes.tolist(), found.scores.tolist(), found.labels.tolist(), strict=True))
    return [FoundBox(classes[k], round(s, 4), tuple(round(v, 1) for v in box)) for box, s, k in rows]


def _counts(found: ImageBoxes) -> str:
    if not found.boxes:
        return "nothing"
    names = list(dict.fromkeys(b.name for b in found.boxes))
    counts = ", ".join(f"{sum(b.name == n for b in found.boxes)} {_printable(n)}" for n in names)
    shown = [
        f"{_printable(b.name)} {b.score:.0%} at {','.join(f'{v:.0f}' for v in b.box)}" for b in found.boxes[:LISTED]
    ]
    more = f"; and {len(found.boxes) - LISTED} more" if len(found.boxes) > LISTED else ""
    return f"{counts}: {'; '.join(shown)}{more}"


def _printable(text: str) -> str:
    """Text from outside that cannot break a line."""
    return "".join(c if c.isprintable() else "?" for c in text)
