"""A detector as an ONNX file: pixels in, boxes out; it is run by onnxruntime and compared before it counts.

    images      N x 3 x H x W, pixels in 0..1, padded with the mean on the right and below; H and W are fixed
    size        height and width of the images without the padding
    boxes       N x anchors x 4: left, top, right, bottom in pixels of the input
    scores      N x classes x anchors
    selected    M x 3: image, class and anchor of each detection, by ONNX's own non-maximum suppression

The first two are its inputs.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..errors import SupernetError
from ..exporters.onnx import quiet_export, require_onnx, session
from .detector import MOST_BOXES, OVERLAP, SCORE, DetectorSpec
from .evaluation import Detections

INPUT, SIZE, BOXES, SELECTION_SCORES, SELECTED = "images", "size", "boxes", "scores", "selected"
DIVISOR = 32  # by which the sides of the input can be divided
TOLERANCE = 1e-3  # of the image's side for boxes, of 1 for scores
MAX_LOG_SCALE = 4.135  # log(1000 / 16): how far a box may grow, as torchvision's coder has it


class Dense(nn.Module):
    """A detector before its boxes are selected: all boxes, decoded, and all scores."""

    mean: Tensor
    std: Tensor
    anchors: Tensor

    def __init__(self, detector: Any, spec: DetectorSpec, height: int, width: int) -> None:
        super().__init__()
        self.pyramid, self.head = detector.backbone, detector.head
        self.register_buffer("mean", torch.tensor(spec.mean).view(1, -1, 1, 1))
        self.register_buffer("std", torch.tensor(spec.std).view(1, -1, 1, 1))
        self.register_buffer("anchors", _anchors(detector, height, width))

    def forward(self, images: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
        """Boxes N x anchors x 4, scores N x classes x anchors."""
        maps = list(self.pyramid((images - self.mean) / self.std).values())
        outputs = self.head(maps)
        return self._decoded(outputs["bbox_regression"], size), outputs["cls_logits"].sigmoid().transpose(1, 2)

    def _decoded(self, offsets: Tensor, size: Tensor) -> Tensor:
        left, top, right, bottom = self.anchors.unbind(-1)
        width, height = right - left, bottom - top
        x, y, w, h = offsets.unbind(-1)
        centre_x, centre_y = x * width + left + width / 2, y * height + top + height / 2
        half_w = w.clamp(max=MAX_LOG_SCALE).exp() * width / 2
        half_h = h.clamp(max=MAX_LOG_SCALE).exp() * height / 2
        corners = torch.stack([centre_x - half_w, centre_y - half_h, centre_x + half_w, centre_y + half_h], -1)
        most = size.flip(0).repeat(2)  # width, height, width, height
        return torch.minimum(corners.clamp(min=0), most)


@torch.no_grad()
def _anchors(detector: Any, height: int, width: int) -> Tensor:
    from torchvision.models.detection.image_list import ImageList

    blank = torch.zeros(1, 3, height, width)
    maps = list(detector.backbone(blank).values())
    anchors: Tensor = detector.anchor_generator(ImageList(blank, [(height, width)]), maps)[0]
    return anchors


def input_sides(longer_side: int, proportions: float) -> tuple[int, int]:
    """Height and width of the file's input, for images of these proportions (height over width)."""
    width, height = (1.0, proportions) if proportions <= 1 else (1 / proportions, 1.0)
    return tuple(ceil(round(longer_side * s) / DIVISOR) * DIVISOR for s in (height, width))  # type: ignore[return-value]


def write_detector_onnx(detector: Any, spec: DetectorSpec, path: Path, height: int, width: int) -> float:
    """Write a detector as an ONNX file. A file whose boxes differ from torch's is not kept.

    Args:
        detector: In evaluation mode.
        spec: What it was built from.
        path: The file.
        height: Of the input.
        width: Of the input.

    Returns:
        The largest difference to torch: of a score, or of a box as a share of the image's side.
    """
    require_onnx()
    dense = Dense(copy.deepcopy(detector), spec, height, width).eval()
    pixels = torch.rand(1, 3, height, width, generator=torch.Generator().manual_seed(0))
    example = pixels, torch.tensor([height - 8.0, width - 4.0])
    data = _with_selection(_exported(dense, example))
    try:
        path.write_bytes(data)
        deviation = _compare(dense, path, example)
        if not deviation <= TOLERANCE:
            raise SupernetError(f"{path} was not written: its boxes differ from the detector's by {deviation:.2g}")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return deviation


def _exported(dense: nn.Module, example: tuple[Tensor, Tensor]) -> Any:
    with quiet_export(), torch.no_grad():
        program: Any = torch.onnx.export(
            dense,
            example,
            dynamo=True,
            input_names=[INPUT, SIZE],
            output_names=[BOXES, SELECTION_SCORES],
            verbose=False,
        )
        return program.model_proto


def _with_selection(model: Any) -> bytes:
    """The model with ONNX's non-maximum suppression behind it, and without notes on where the code lay."""
    from onnx import TensorProto, helper

    graph = model.graph
    for node in graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for value in (*graph.value_info, *graph.input, *graph.output):
        del value.metadata_props[:]
    del graph.metadata_props[:], model.metadata_props[:]
    limits = {
        "most_boxes": (TensorProto.INT64, MOST_BOXES),
        "overlap": (TensorProto.FLOAT, OVERLAP),
        "least_score": (TensorProto.FLOAT, SCORE),
    }
    graph.initializer.extend(helper.make_tensor(name, kind, [1], [v]) for name, (kind, v) in limits.items())
    inputs = [BOXES, SELECTION_SCORES, *limits]
    graph.node.append(helper.make_node("NonMaxSuppression", inputs, [SELECTED], name="select"))
    graph.output.append(helper.make_tensor_value_info(SELECTED, TensorProto.INT64, ["detections", 3]))
    data: bytes = model.SerializeToString(deterministic=True)
    return data


@torch.no_grad()
def _compare(dense: nn.Module, path: Path, example: tuple[Tensor, Tensor]) -> float:
    boxes, scores, _ = run_onnx(session(path), example[0].numpy(), example[1].numpy())
    ours_boxes, ours_scores = dense(*example)
    side = max(example[0].shape[2:])
    far = np.abs(ours_boxes.numpy() - boxes).max() / side
    return float(max(far, np.abs(ours_scores.numpy() - scores).max()))


def run_onnx(reader: Any, images: npt.NDArray[np.float32], size: npt.NDArray[np.float32]) -> tuple[Any, Any, Any]:
    """All boxes and scores of a batch, and which of them are detections."""
    try:
        boxes, scores, selected = reader.run([BOXES, SELECTION_SCORES, SELECTED], {INPUT: images, SIZE: size})
    except Exception as error:  # onnxruntime's own errors share no base
        raise SupernetError(f"onnxruntime cannot run the detector: {' '.join(str(error).split())}") from None
    return boxes, scores, selected


def detect_by_onnx(reader: Any, image: Tensor, mean: Sequence[float]) -> Detections:
    """What a detector's file finds in one image.

    Args:
        reader: The session.
        image: 3 x H x W in 0..1, no larger than the file's input.
        mean: What the image is padded with.

    Returns:
        The detections in pixels of the image, the surest first.
    """
    _, _, height, width = reader.get_inputs()[0].shape
    if image.shape[1] > height or image.shape[2] > width:
        raise SupernetError(
            f"the ONNX file reads images of {width}x{height} at most, got {image.shape[2]}x{image.shape[1]}: "
            "use the engine torch"
        )
    padded = np.broadcast_to(np.array(mean, np.float32)[:, None, None], (3, height, width)).copy()
    padded[:, : image.shape[1], : image.shape[2]] = image.numpy()
    boxes, scores, selected = run_onnx(reader, padded[None], np.array(image.shape[1:], np.float32))
    _, labels, places = selected.T
    values = scores[0, labels, places]
    best = np.argsort(-values, kind="stable")[:MOST_BOXES]
    return Detections(boxes[0, places[best]], values[best], labels[best])
