"""The page of a detection job: every text and number from its files is escaped or checked."""

from typing import Any

import pytest

from supernetic.reports.detect import page
from supernetic.reports.rendering import fill

SETTINGS: dict[str, Any] = {
    "data": {
        "name": "<b>cells</b>",
        "classes": ["a", "<i>b"],
        "images": {"train": 3, "valid": 2, "test": 1},
        "boxes": {"train": 9, "valid": 2, "test": 1},
    },
    "backbone": {"name": "net", "pretrained": True},
    "image_size": 64,
    "channels": 8,
    "seed": 0,
    "recipe": {"lr": 0.1},
}
PICTURE: dict[str, Any] = {
    "name": '"><script>',
    "width": 64,
    "height": 48,
    "jpeg": "abc+/=",
    "found": [
        {"label": 0, "score": 0.9, "box": [1, 2, 3, 4], "right": True},
        {"label": 1, "score": 0.4, "box": [1, 2, 3, 4], "right": False},
    ],
    "missed": [{"label": 1, "box": [5, 5, 9, 9]}],
}
METRICS = dict.fromkeys(("ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large", "ar100"), 0.25)
RECORD: dict[str, Any] = {
    "notes": ["1 image has no box"],
    "backbone": {"cuts": ["stage1.0: left out"]},
    "threshold": 0.3,
    "valid": METRICS,
    "test": {**METRICS, "ap_small": None, "ap50": 0.5},
    "by_class": {"a": {"ap": 0.25, "ap50": 0.5, "boxes": 1.0}, "<i>b": {"ap": None, "ap50": None, "boxes": 0.0}},
    "macs": {"body": 10, "pyramid": 5, "heads": 5, "all": 20},
    "params": 30,
    "anchors": {"sizes": [[8, 11]], "ratios": [1]},
}


def test_a_finished_run() -> None:
    html = fill("detect.html.j2", page(SETTINGS, RECORD, [PICTURE], [], "run"))
    assert "AP50 0.500 and AP 0.250 on the test images" in html
    assert "1 right, 1 wrong, 1 missed" in html
    assert "no boxes" in html
    assert "stage1.0: left out" in html
    for raw in ("<b>cells", "<i>b", '"><script>'):
        assert raw not in html


def test_a_run_that_is_not_finished() -> None:
    metrics = [{"step": s, "classes": 1.0 / s, "boxes": 0.5 / s} for s in (10, 20)]
    html = fill("detect.html.j2", page(SETTINGS, {}, [], metrics, "run"))
    assert "is being trained" in html
    assert "training loss of classes and boxes" in html
    assert "What it finds" not in html


def test_pictures_of_others_are_checked() -> None:
    with pytest.raises(ValueError, match="base64"):
        page(SETTINGS, RECORD, [{**PICTURE, "jpeg": '"/><script>'}], [], "run")
