"""The ONNX file of a detector finds what torch finds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from supernetic.detection.batches import as_tensor
from supernetic.detection.detector import DetectorSpec
from supernetic.detection.evaluation import plain_detections
from supernetic.detection.onnx import detect_by_onnx, input_sides, write_detector_onnx
from supernetic.errors import SupernetError
from supernetic.exporters.onnx import have_onnx, session

needs_onnx = pytest.mark.skipif(not have_onnx(), reason="needs onnx, onnxscript and onnxruntime")


def test_sides_hold_the_images() -> None:
    assert input_sides(320, 0.75) == (256, 320)
    assert input_sides(320, 2.0) == (320, 160)
    assert input_sides(100, 1.0) == (128, 128)


@needs_onnx
def test_it_finds_the_same_boxes(detector: Any, spec: DetectorSpec, items: Any, tmp_path: Path) -> None:
    with torch.no_grad():  # fresh heads are sure of nothing
        detector.head.classification_head.cls_logits.bias.fill_(-1.0)
        for p in detector.head.regression_head.bbox_reg.parameters():
            p.add_(0.05)
    detector.eval()
    deviation = write_detector_onnx(detector, spec, tmp_path / "a.onnx", *input_sides(64, 0.75))
    assert deviation < 1e-4
    reader = session(tmp_path / "a.onnx")
    image = as_tensor(items["test"][0].image(), 64)
    theirs = detect_by_onnx(reader, image, spec.mean)
    with torch.no_grad():
        ours = plain_detections(detector([image])[0])
    assert len(ours.scores) == len(theirs.scores) > 3
    assert np.allclose(ours.scores, theirs.scores, atol=1e-4)
    assert np.allclose(np.sort(ours.boxes, 0), np.sort(theirs.boxes, 0), atol=0.05)
    with pytest.raises(SupernetError, match="reads images of 64x64 at most, got 96x72"):
        detect_by_onnx(reader, torch.zeros(3, 72, 96), spec.mean)
