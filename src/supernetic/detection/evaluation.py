"""How good detections are: COCO's average precision, by pycocotools."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .annotations import Annotated
from .batches import as_tensor
from .packages import require_detection

Array = npt.NDArray[np.float64]

# COCO's twelve numbers, in its order; areas are below 32 x 32, up to 96 x 96, and above, in pixels of the images.
METRICS = ("ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large",
           "ar1", "ar10", "ar100", "ar_small", "ar_medium", "ar_large")  # fmt: skip
MATCH = 0  # the place of IoU 0.5 among COCO's thresholds
THRESHOLDS = np.linspace(0.05, 0.95, 91)  # of scores, tried for showing boxes


@dataclass(frozen=True, eq=False)
class Detections:
    """What a detector finds in one image, the surest first, in pixels of the image."""

    boxes: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]

    def above(self, threshold: float) -> Detections:
        """Those that are sure enough."""
        kept = self.scores >= threshold
        return Detections(self.boxes[kept], self.scores[kept], self.labels[kept])

    def first(self, count: int) -> Detections:
        """The surest ones."""
        return Detections(self.boxes[:count], self.scores[:count], self.labels[:count])


@dataclass(frozen=True)
class Scores:
    """COCO's metrics over some images; None where there is no box that they could be about."""

    images: int
    metrics: dict[str, float | None]
    by_class: dict[str, dict[str, float | None]] = field(default_factory=dict)  # `ap`, `ap50` and the number of boxes


@torch.no_grad()
def detect_all(
    detector: Any, items: Sequence[Annotated], longer_side: int, progress: Callable[[int], None] | None = None
) -> Iterator[Detections]:
    """Run a detector over images.

    Args:
        detector: In evaluation mode.
        items: The images.
        longer_side: Pixels that they are resized to.
        progress: Receives the number of images done.

    Yields:
        What it finds in each.
    """
    for done, item in enumerate(items, 1):
        image = as_tensor(item.image(), longer_side)
        (found,) = detector([image])
        yield in_pixels_of((item.width, item.height), image, plain_detections(found))
        if progress:
            progress(done)


def plain_detections(found: Mapping[str, Tensor]) -> Detections:
    """What torchvision's detectors return for an image."""
    return Detections(found["boxes"].numpy(), found["scores"].numpy(), found["labels"].numpy())


def in_pixels_of(size: tuple[int, int], seen: Tensor, found: Detections) -> Detections:
    """Detections in the pixels of an image, from those in the pixels that the detector saw.

    Args:
        size: Width and height of the image.
        seen: The image as the detector saw it, 3 x H x W.
        found: What it found.

    Returns:
        The same boxes in other pixels.
    """
    height, width = seen.shape[1:]
    scale = np.array([size[0] / width, size[1] / height] * 2, np.float32)
    return replace(found, boxes=found.boxes * scale)


def score(items: Sequence[Annotated], found: Sequence[Detections], classes: Sequence[str]) -> Scores:
    """COCO's average precision.

    Args:
        items: Images with their true boxes.
        found: What was detected in each.
        classes: Names of the classes.

    Returns:
        The metrics, over all classes and by class.
    """
    evaluation = _evaluate(items, found, len(classes))
    numbers = [None if v < 0 else float(v) for v in evaluation.stats]
    precision = evaluation.eval["precision"]  # IoU x recall x class x area x most boxes
    by_class = {}
    for k, name in enumerate(classes):
        count = sum(int(((i.labels == k) & ~i.ignored).sum()) for i in items)
        every, half = precision[:, :, k, 0, -1], precision[MATCH, :, k, 0, -1]
        by_class[name] = {"ap": _mean(every), "ap50": _mean(half), "boxes": float(count)}
    return Scores(len(items), dict(zip(METRICS, numbers, strict=True)), by_class)


def _mean(values: Array) -> float | None:
    known = values[values > -1]
    return float(known.mean()) if known.size else None


def _evaluate(items: Sequence[Annotated], found: Sequence[Detections], classes: int) -> Any:
    require_detection()
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for image, (item, detections) in enumerate(zip(items, found, strict=True), 1):
        for box, label, ignored in zip(item.boxes, item.labels, item.ignored, strict=True):
            corners = _corner_and_sides(box)
            truth.append({
                "id": len(truth) + 1, "image_id": image, "category_id": int(label), "bbox": corners,
                "area": corners[2] * corners[3], "iscrowd": int(ignored),
            })  # fmt: skip
        for box, value, label in zip(detections.boxes, detections.scores, detections.labels, strict=True):
            results.append({
                "image_id": image, "category_id": int(label), "bbox": _corner_and_sides(box), "score": float(value),
            })  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does
        data = COCO()
        data.dataset = {
            "info": {},
            "images": [{"id": i, "width": item.width, "height": item.height} for i, item in enumerate(items, 1)],
            "annotations": truth,
            "categories": [{"id": k, "name": str(k)} for k in range(classes)],
        }
        data.createIndex()
        guesses = data.loadRes(results) if results else COCO()
        if not results:
            guesses.dataset = {**data.dataset, "annotations": []}
            guesses.createIndex()
        evaluation = COCOeval(data, guesses, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation


def _corner_and_sides(box: npt.NDArray[np.float32]) -> list[float]:
    left, top, right, bottom = map(float, box)
    return [left, top, right - left, bottom - top]


def best_threshold(items: Sequence[Annotated], found: Sequence[Detections]) -> float:
    """The score from which boxes are shown: the one with the highest F1 at an overlap of one half.

    Args:
        items: Validation images.
        found: What was detected in each.

    Returns:
        The threshold.
    """
    hits = [matches(item, detections)[0] for item, detections in zip(items, found, strict=True)]
    scores = np.concatenate([d.scores for d in found]) if found else np.zeros(0)
    right = np.concatenate(hits) if hits else np.zeros(0, bool)
    truth = sum(int((~item.ignored).sum()) for item in items)
    best, reached = float(THRESHOLDS[0]), -1.0
    for threshold in THRESHOLDS:
        shown = scores >= threshold
        f1 = 2 * right[shown].sum() / max(1, shown.sum() + truth)
        if f1 > reached:
            best, reached = float(threshold), float(f1)
    return round(best, 2)


def matches(item: Annotated, found: Detections) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which detections are right: they meet a box of their class, at least by half, that no surer one has met.

    Args:
        item: An image with its true boxes.
        found: What was detected in it.

    Returns:
        By detection, whether it is right; by true box, whether it was met.
    """
    taken = np.zeros(len(item.labels), bool)
    right = np.zeros(len(found.scores), bool)
    for i in np.argsort(-found.scores, kind="stable"):
        overlaps = np.where((item.labels == found.labels[i]) & ~taken, overlap(found.boxes[i], item.boxes), 0.0)
        if overlaps.size and overlaps.max() >= 0.5:
            taken[overlaps.argmax()] = right[i] = True
    return right, taken


def overlap(box: npt.NDArray[np.float32], others: npt.NDArray[np.float32]) -> Array:
    """Intersection over union of one box with others."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    shared = sides.clip(0).prod(1)
    areas = (others[:, 2:] - others[:, :2]).prod(1) + (box[2:] - box[:2]).prod()
    result: Array = shared / np.maximum(areas - shared, 1e-9)
    return result
