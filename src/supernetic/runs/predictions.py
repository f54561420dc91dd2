"""What networks say of the test images, stored once by the step `test`: all diagnostics are computed from these files.

predictions.json    labels; of each network the predicted class and the confidence in it, image by image
mistakes.json       small pictures of the images that the handed-over models get wrong most surely

Arrays are little-endian bytes in base64, so that a file from elsewhere takes no more memory than its own size.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Ints
from ..errors import RunError
from .files import MISTAKES, PREDICTIONS
from .records import NAME, PNG, read_json

CLASS, SHARE = np.dtype("<u2"), np.dtype("<f4")  # of class numbers, of probabilities
MOST_CLASSES = 2**16  # that class numbers of two bytes can tell apart
MOST_MISTAKES = 500  # pictures of a run, at most

Shares = npt.NDArray[np.float32]  # probabilities, 0 to 1


@dataclass(frozen=True, eq=False)
class Prediction:
    """Of one network, in the order of the test split.

    Args:
        predicted: The class of each image.
        confidence: Its probability, from 0 to 1.
        temperature: By which logits are divided for calibrated probabilities; None if it was not fitted.
        calibrated: The confidence at that temperature.
    """

    predicted: Ints
    confidence: Shares
    temperature: float | None = None
    calibrated: Shares | None = None


@dataclass(frozen=True, eq=False)
class Predictions:
    """The content of `predictions.json`."""

    labels: Ints
    networks: Mapping[str, Prediction]

    def text(self) -> str:
        """The file's content."""
        networks = {name: _network_record(p) for name, p in self.networks.items()}
        record = {"images": len(self.labels), "labels": _packed(self.labels, CLASS), "networks": networks}
        return json.dumps(record, indent=1) + "\n"


def read_predictions(run: str | Path, classes: int) -> Predictions | None:
    """What the networks of a run say of the test images.

    Args:
        run: The run directory.
        classes: How many there are.

    Returns:
        The predictions; None if the run has none. A file that is damaged, or not of these classes, is refused.
    """
    file = Path(run) / PREDICTIONS
    if not file.exists():
        return None
    record = _table(read_json(file), file)
    labels = _classes(record.get("labels"), classes, None, f"{file}: labels")
    if not len(labels):
        raise RunError(f"{file}: labels must be those of one image or more, got none")
    networks = _table(record.get("networks"), f"{file}: networks")
    return Predictions(labels, {name: _prediction(name, r, len(labels), classes, file) for name, r in networks.items()})


def mistakes_text(pictures: Mapping[int, str]) -> str:
    """The content of `mistakes.json`: a PNG in base64 by an image's number in the test split."""
    return json.dumps({"pictures": {str(image): png for image, png in pictures.items()}}, indent=1) + "\n"


def read_mistakes(run: str | Path) -> dict[int, str]:
    """Pictures of test images by their number in the split, PNGs in base64; none if the run has none."""
    file = Path(run) / MISTAKES
    if not file.exists():
        return {}
    pictures = _table(_table(read_json(file), file).get("pictures"), f"{file}: pictures")
    for image, png in pictures.items():
        if not image.isdecimal() or PNG.read(png) is None:
            raise RunError(f"{file}: pictures must be PNGs in base64 by the number of an image, got {image[:20]!r}")
    return {int(image): png for image, png in list(pictures.items())[:MOST_MISTAKES]}


def _network_record(p: Prediction) -> dict[str, Any]:
    record: dict[str, Any] = {"predicted": _packed(p.predicted, CLASS), "confidence": _packed(p.confidence, SHARE)}
    if p.temperature is not None and p.calibrated is not None:
        record |= {"temperature": p.temperature, "calibrated": _packed(p.calibrated, SHARE)}
    return record


def _prediction(name: str, record: Any, images: int, classes: int, file: Path) -> Prediction:
    place = f"{file}: the network {name[:20]!r}"
    if not NAME.fullmatch(name):
        raise RunError(f"{place} must have a name of letters and digits, with . + - or _ after the first")
    fields = _table(record, place)
    temperature = fields.get("temperature")
    if temperature is not None and not (isinstance(temperature, int | float) and 0 < temperature < float("inf")):
        raise RunError(f"{place}: temperature must be a number above 0, got {temperature!r}")
    return Prediction(
        _classes(fields.get("predicted"), classes, images, f"{place}: predicted"),
        _shares(fields.get("confidence"), images, f"{place}: confidence"),
        None if temperature is None else float(temperature),
        None if temperature is None else _shares(fields.get("calibrated"), images, f"{place}: calibrated"),
    )


def _table(value: Any, place: str | Path) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise RunError(f"{place} must be a table, got {type(value).__name__}")
    return value


def _packed(values: npt.NDArray[Any], kind: np.dtype[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def _unpacked(text: Any, kind: np.dtype[Any], images: int | None, place: str) -> npt.NDArray[Any]:
    try:
        content = base64.b64decode(text, validate=True)
        found = np.frombuffer(content, dtype=kind)
    except (TypeError, ValueError, binascii.Error) as error:
        raise RunError(f"{place} must be an array in base64: {error}") from None
    if images is not None and len(found) != images:
        raise RunError(f"{place} must have a value for each of {images} images, got {len(found)}")
    return found


def _classes(text: Any, classes: int, images: int | None, place: str) -> Ints:
    found = _unpacked(text, CLASS, images, place).astype(np.int64)
    if len(found) and found.max() >= classes:
        raise RunError(f"{place} must be numbers of {classes} classes, from 0 on, got {found.max()}")
    return found


def _shares(text: Any, images: int, place: str) -> Shares:
    found = _unpacked(text, SHARE, images, place).astype(np.float32)
    if not ((found >= 0) & (found <= 1)).all():
        raise RunError(f"{place} must be numbers from 0 to 1")
    return found


def class_names(settings: Mapping[str, Any], place: str | Path) -> tuple[str, ...]:
    """The classes of a run's data, from its settings."""
    data = settings.get("data")
    names = data.get("classes") if isinstance(data, Mapping) else None
    if not isinstance(names, Sequence) or isinstance(names, str) or not 0 < len(names) <= MOST_CLASSES:
        raise RunError(f"{place}: data.classes must be a list of 1 to {MOST_CLASSES:,} names")
    return tuple(map(str, names))
