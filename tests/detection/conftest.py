"""A small detector, and data for it."""

from pathlib import Path
from typing import Any

import pytest

from supernetic.detection.anchors import Anchors
from supernetic.detection.detector import DetectorSpec, build_detector
from supernetic.detection.packages import PACKAGES, have_detection
from supernetic.detection.taps import body_of
from supernetic.networks.controls import mobilenet_v2


@pytest.fixture(scope="session")
def spec() -> DetectorSpec:
    """What a small detector is built from."""
    anchors = Anchors(((12.0, 17.0), (24.0, 34.0), (48.0, 68.0)), (1.0,))
    return DetectorSpec(
        body_of(mobilenet_v2(0.25, 64, 10)), 2, 64, 16, anchors, (0.5,) * 3, (0.25,) * 3, pretrained=False
    )


@pytest.fixture
def detector(spec: DetectorSpec) -> Any:
    """The detector with fresh weights; tests that need it are skipped where packages are missing."""
    if not have_detection():
        pytest.skip(f"needs {' and '.join(PACKAGES)}")
    return build_detector(spec)


@pytest.fixture(scope="session")
def items(voc: Path) -> Any:
    """Annotated images, by split."""
    from supernetic.detection.reading import read_detection

    return read_detection(voc).splits
