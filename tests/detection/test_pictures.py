"""Pictures for the page, and boxes drawn into images."""

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from supernetic.detection.evaluation import Detections
from supernetic.detection.pictures import COLOURS, draw_boxes, shown_images


def test_right_wrong_and_missed_boxes(items: Any) -> None:
    some = items["train"]
    found = [Detections(i.boxes, np.array([0.9, 0.8], np.float32), i.labels) for i in some]
    found[3] = Detections(some[3].boxes[:1], np.array([0.9], np.float32), np.array([1]))  # the wrong class
    found[4] = Detections(some[4].boxes, np.array([0.9, 0.1], np.float32), some[4].labels)  # one is not sure enough
    shown = {p["name"]: p for p in shown_images(some, found, 0.5)}
    assert len(shown) == 8
    wrong, unsure, fine = (shown[some[i].path.name] for i in (3, 4, 0))
    assert [b["right"] for b in wrong["found"]] == [False]
    assert len(wrong["missed"]) == 2
    assert [len(unsure["found"]), len(unsure["missed"])] == [1, 1]
    assert [b["right"] for b in fine["found"]] == [True, True]
    assert Image.open(io.BytesIO(base64.b64decode(fine["jpeg"]))).size == (64, 48)


def test_boxes_are_drawn(tmp_path: Path) -> None:
    found = Detections(np.array([[10, 20, 40, 40]], np.float32), np.array([0.9], np.float32), np.array([1]))
    draw_boxes(Image.new("RGB", (64, 64)), found, ("a", "b"), tmp_path / "a.png")
    image = Image.open(tmp_path / "a.png")
    red, green, blue = (int(COLOURS[1][i : i + 2], 16) for i in (1, 3, 5))
    assert image.getpixel((10, 35)) == (red, green, blue)
    assert image.getpixel((25, 30)) == (0, 0, 0)
