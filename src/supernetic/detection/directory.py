"""A trained detector as a directory that can be used without the run it came from.

    detector.json       what it is built from, classes, metrics, the score from which boxes are shown, checksums
    model.safetensors   the weights
    model.onnx          the same for onnxruntime, where it could be exported
    labels.txt          the classes, one per line
    README.md           all of it in words

The directory appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from .. import __version__
from ..errors import RunError, SupernetError
from ..exporters.card import escape
from ..exporters.model import remove_temporary_directories
from ..exporters.onnx import have_onnx
from ..reading import parse_json, read_bytes
from ..runs.directory import DAMAGE, temporary_name
from ..runs.durable import sync_appended, sync_directory, sync_files
from ..runs.files import DETECTOR_RECORD, MODEL_CARD, MODEL_LABELS, MODEL_ONNX, MODEL_WEIGHTS
from .detector import DetectorSpec, build_detector
from .onnx import write_detector_onnx

FORMAT = 1
MOST_PIXELS = 4096  # of a side: a received detector must not make `predict` fill the memory


@dataclass(frozen=True)
class DetectorCard:
    """What is said about a detector.

    Args:
        name: What it is called.
        backbone: The network that it reads maps of.
        data: What it was trained on.
        classes: In the order of labels.
        threshold: The score from which boxes are shown, chosen on validation images.
        metrics: COCO's on test images, `ap` and so on.
        macs: Multiply-accumulates for one image of `sides`.
        params: Number of parameters.
        sides: Height and width of the ONNX file's input.
        recipe: What the training is called.
    """

    name: str
    backbone: str
    data: str
    classes: tuple[str, ...]
    threshold: float
    metrics: Mapping[str, float | None]
    macs: int
    params: int
    sides: tuple[int, int]
    recipe: str = ""


def save_detector(directory: Path, detector: Any, spec: DetectorSpec, card: DetectorCard) -> dict[str, Any]:
    """Write a detector directory.

    Args:
        directory: Where to write it; an earlier detector there is replaced.
        detector: In evaluation mode.
        spec: What it was built from.
        card: What is said about it.

    Returns:
        The content of `detector.json`; `onnx` says why there is no such file, if there is none.
    """
    temporary = temporary_name(directory)
    sync_appended()
    remove_temporary_directories(directory)
    try:
        temporary.mkdir(parents=True)
        tensors = {n: t.detach().cpu().contiguous() for n, t in detector.state_dict().items()}
        (temporary / MODEL_WEIGHTS).write_bytes(save(tensors, {"format": "pt"}))
        (temporary / MODEL_LABELS).write_bytes("".join(f"{' '.join(c.split())}\n" for c in card.classes).encode())
        onnx = _onnx(temporary / MODEL_ONNX, detector, spec, card)
        (temporary / MODEL_CARD).write_text(_page(spec, card, onnx), encoding="utf-8")
        record = {"format": FORMAT, "supernetic": __version__, **asdict(card), "spec": spec.to_json(), "onnx": onnx}
        record["sha256"] = {p.name: _digest(p.read_bytes()) for p in sorted(temporary.iterdir())}
        (temporary / DETECTOR_RECORD).write_bytes((json.dumps(record, indent=1, allow_nan=False) + "\n").encode())
        sync_files(temporary)
        shutil.rmtree(directory, ignore_errors=True)
        os.replace(temporary, directory)
        sync_directory(directory.parent)
    except OSError as error:
        raise RunError(f"the detector {directory} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return record


def _onnx(file: Path, detector: Any, spec: DetectorSpec, card: DetectorCard) -> dict[str, Any]:
    """Write the ONNX file; what came of it."""
    if not have_onnx():
        return {"missing": "the packages of the extra export are not installed"}
    try:
        return {"deviation": write_detector_onnx(detector, spec, file, *card.sides)}
    except SupernetError as error:
        return {"missing": str(error)}
    except Exception as error:  # the exporter's own: whatever it cannot do is said, and the rest is written
        return {"missing": f"it could not be exported: {type(error).__name__}: {' '.join(str(error).split())[:200]}"}


def read_detector_card(path: str | PathLike[str]) -> tuple[DetectorSpec, DetectorCard]:
    """What a detector directory says, after all files were checked.

    Args:
        path: The directory.

    Returns:
        What the detector is built from, and what is said about it.
    """
    spec, card, _ = _read(Path(path))
    return spec, card


def _read(directory: Path) -> tuple[DetectorSpec, DetectorCard, bytes]:
    """The same, and the weights as they were when they were checked."""
    file = directory / DETECTOR_RECORD
    try:
        record = parse_json(read_bytes(file))
        if record["format"] != FORMAT:
            raise RunError(f"{file} has the format {record['format']}, supernetic {__version__} reads {FORMAT}")
        weights = b""
        for name, digest in (*record["sha256"].items(), (MODEL_WEIGHTS, record["sha256"].get(MODEL_WEIGHTS))):
            if name not in (MODEL_WEIGHTS, MODEL_ONNX, MODEL_CARD, MODEL_LABELS):
                raise RunError(f"{file} lists {name!r}, which is no file of a detector")
            data = read_bytes(directory / name)
            if _digest(data) != digest:
                raise RunError(f"{directory / name} was changed after it was written: its checksum does not match")
            weights = data if name == MODEL_WEIGHTS else weights
        fields = {name: record[name] for name in DetectorCard.__dataclass_fields__}
        spec, sides = DetectorSpec.from_json(record["spec"]), tuple(record["sides"])
        if not 1 <= spec.image_size <= MOST_PIXELS or len(record["classes"]) != spec.classes:
            raise ValueError(f"image_size {spec.image_size}, {len(record['classes'])} classes")
        return spec, DetectorCard(**{**fields, "classes": tuple(record["classes"]), "sides": sides}), weights
    except OSError as error:
        raise RunError(f"{error.filename or file} cannot be read: {error.strerror or error}") from None
    except DAMAGE as error:
        raise RunError(f"{file} does not describe a detector: {type(error).__name__}: {error}") from None


def load_detector(path: str | PathLike[str]) -> tuple[Any, DetectorSpec, DetectorCard]:
    """A detector, after all files were checked.

    Args:
        path: The directory.

    Returns:
        torchvision's `RetinaNet` in evaluation mode, what it is built from, and what is said about it.
    """
    spec, card, weights = _read(Path(path))
    try:
        detector = build_detector(spec)
        detector.load_state_dict(load(weights))
    except (*DAMAGE, RuntimeError, SafetensorError) as error:
        raise RunError(
            f"{path} holds no weights that fit its description: {' '.join(str(error).split())[:200]}"
        ) from None
    return detector.eval(), spec, card


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _page(spec: DetectorSpec, card: DetectorCard, onnx: Mapping[str, Any]) -> str:
    numbers = "\n".join(f"| {k} | {v:.3f} |" for k, v in card.metrics.items() if v is not None)
    height, width = card.sides
    file = (
        f"`model.onnx` reads `images`, pixels in 0..1 of 1 x 3 x {height} x {width}, and their `size` without padding, "
        "height and width. It gives all `boxes`, all `scores`, and in "
        "`selected` (image, class, box) those that are detections. Resize images to a longer side of "
        f"{spec.image_size} pixels and pad them on the right and below. Its numbers differ from torch's by at most "
        f"{onnx['deviation']:.1e}."
        if "deviation" in onnx
        else f"There is no ONNX file: {escape(onnx['missing'])}."
    )
    return (
        f"# {escape(card.name)}\n\n"
        f"A RetinaNet on {escape(card.backbone)}, trained on {escape(card.data)}. It finds: "
        f"{', '.join(map(escape, card.classes))}.\n\n"
        f"| | |\n|---|---|\n| multiply-accumulates for {width} x {height} pixels | {card.macs:,} |\n"
        f"| parameters | {card.params:,} |\n| longer side of images | {spec.image_size} pixels |\n"
        f"| boxes are shown from a score of | {card.threshold:g} |\n\n"
        f"## Measurements\n\nCOCO's average precision on test images.\n\n| metric | value |\n|---|---|\n{numbers}\n\n"
        "## Use\n\n`supernetic predict path/to/this/directory IMAGES...` finds boxes in images. In Python: "
        "`supernetic.find_boxes(directory, images)`.\n\n"
        f"{file}\n\n"
        "## Limits\n\nMeasurements hold for images like those they were made on. Scores are not calibrated.\n"
    )
