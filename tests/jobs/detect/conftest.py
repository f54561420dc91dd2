"""A run of `detect` on drawn shapes, made once."""

from pathlib import Path

import pytest

from supernetic.detection.packages import PACKAGES, have_detection
from supernetic.jobs.detect.job import detect

SETTINGS = {"steps": 4, "image_size": 64, "channels": 8}


@pytest.fixture(scope="session")
def detected(voc: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished run."""
    if not have_detection():
        pytest.skip(f"needs {' and '.join(PACKAGES)}")
    path = tmp_path_factory.mktemp("runs") / "shapes"
    detect("mobilenetv2", voc, **SETTINGS, out=path)  # type: ignore[arg-type]
    return path


@pytest.fixture
def no_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that are not about exports: an ONNX file takes seconds."""
    monkeypatch.setattr("supernetic.detection.directory.have_onnx", lambda: False)
