"""MACs of a detector's parts."""

from typing import Any

from supernetic.costs.macs import add_up
from supernetic.detection.costs import detector_macs
from supernetic.detection.detector import DetectorSpec


def test_the_body_costs_what_its_blueprint_says(detector: Any, spec: DetectorSpec) -> None:
    macs = detector_macs(detector, 64, 64)
    assert macs["body"] == add_up(spec.blueprint)[0]
    assert macs["all"] == macs["body"] + macs["pyramid"] + macs["heads"]
    assert detector_macs(detector, 64, 128)["all"] == 2 * macs["all"]


def test_the_heads_by_hand(detector: Any) -> None:
    """Two towers of four convolutions, and one for 2 x 2 scores and 2 x 4 offsets, on maps of 8, 4 and 2 pixels."""
    pixels = 8 * 8 + 4 * 4 + 2 * 2
    assert detector_macs(detector, 64, 64)["heads"] == pixels * 9 * 16 * (8 * 16 + 2 * 2 + 2 * 4)
