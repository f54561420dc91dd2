"""A detector directory is whole, says what it is, and is checked before it is used."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from supernetic.detection import directory as module
from supernetic.detection.detector import DetectorSpec
from supernetic.detection.directory import DetectorCard, load_detector, read_detector_card, save_detector
from supernetic.errors import RunError

CARD = DetectorCard("cells", "a net", "photos", ("disc", "sq|uare"), 0.3, {"ap": 0.5, "ap75": None}, 10, 20, (64, 64))


@pytest.fixture
def saved(detector: Any, spec: DetectorSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "have_onnx", lambda: False)
    save_detector(tmp_path / "detector", detector.eval(), spec, CARD)
    return tmp_path / "detector"


def test_it_is_read_again(saved: Path, detector: Any, spec: DetectorSpec) -> None:
    loaded, same, card = load_detector(saved)
    assert same == spec
    assert card == CARD
    assert all(torch.equal(t, loaded.state_dict()[n]) for n, t in detector.state_dict().items())
    assert (saved / "labels.txt").read_text() == "disc\nsq|uare\n"
    page = (saved / "README.md").read_text()
    assert r"sq\|uare" in page
    assert "There is no ONNX file: the packages of the extra export are not installed" in page


def test_changed_files_are_noticed(saved: Path) -> None:
    with open(saved / "model.safetensors", "ab") as file:
        file.write(b"x")
    with pytest.raises(RunError, match="was changed after it was written"):
        load_detector(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 9}, "has the format 9"),
        ({"sha256": {"../other": ""}}, "which is no file of a detector"),
        ({"spec": {}}, "does not describe a detector"),
        ({"classes": ["one"]}, "does not describe a detector"),
    ],
)
def test_records_of_others_are_checked(saved: Path, change: dict[str, Any], message: str) -> None:
    record = json.loads((saved / "detector.json").read_text())
    (saved / "detector.json").write_text(json.dumps({**record, **change}))
    with pytest.raises(RunError, match=message):
        read_detector_card(saved)


def test_what_a_kill_left_beside_it_goes(saved: Path, detector: Any, spec: DetectorSpec) -> None:
    left, other = saved.with_name(".detector.0123456789abcdef.tmp"), saved.with_name(".mine.0123456789abcdef.tmp")
    for folder in (left, other):
        folder.mkdir()
        (folder / "labels.txt").touch()
    save_detector(saved, detector, spec, CARD)
    assert not left.exists()
    assert other.exists()
