"""`detect` from annotated images to a detector directory: resumed to the byte, reported, used on new images."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import supernetic
from supernetic.detection.packages import PACKAGES, have_detection
from supernetic.errors import InputError, RunError
from supernetic.jobs.detect.job import detect
from supernetic.progress import Event

pytestmark = pytest.mark.skipif(not have_detection(), reason=f"needs {' and '.join(PACKAGES)}")
SETTINGS: dict[str, Any] = {"steps": 4, "image_size": 64, "channels": 8}


def test_a_finished_run(detected: Path) -> None:
    record = json.loads((detected / "detect.json").read_text())
    assert record["steps"] == 4
    assert set(record["by_class"]) == {"disc", "square"}
    assert record["test"]["ap"] is not None
    assert record["macs"]["all"] > record["macs"]["body"] > 0
    again = supernetic.resume(detected)
    assert again.to_json()["test"] == record["test"]
    assert "supernetic predict" in str(again)


def test_it_says_whether_images_were_mirrored_and_why(detected: Path) -> None:
    assert json.loads((detected / "augment.json").read_text())["augment"] == "none"
    reason = "Images are not mirrored: a test needs 64 training objects"
    assert reason in (detected / "report.html").read_text()
    assert reason in str(supernetic.resume(detected))


@pytest.mark.usefixtures("no_onnx")
@pytest.mark.parametrize(("augment", "same"), [("none", True), ("flip", False)])
def test_mirrored_as_the_user_says(detected: Path, voc: Path, tmp_path: Path, augment: str, same: bool) -> None:
    detect("mobilenetv2", voc, **SETTINGS, augment=augment, out=tmp_path)
    assert not (tmp_path / "augment.json").exists()
    weights = "detector.safetensors"
    assert ((tmp_path / weights).read_bytes() == (detected / weights).read_bytes()) is same


def test_the_report_is_written_again_from_files(detected: Path) -> None:
    page = detected / "report.html"
    before = page.read_text()
    page.unlink()
    supernetic.report(detected)
    assert page.read_text() == before
    assert before.count('<svg class="photo"') == 2
    assert "http" not in before.replace("http-equiv", "").replace("http://www.w3.org", "")


class Stopped(Exception):
    """By the test."""


@pytest.mark.usefixtures("no_onnx")
def test_interrupted_and_resumed_it_gives_the_same_bytes(
    detected: Path, voc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from supernetic.detection import training

    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 2)
    steps = 0

    def stop(event: Event) -> None:
        nonlocal steps
        if event.task == "train" and event.total:
            steps += 1
            if steps == 3:
                raise Stopped

    with pytest.raises(Stopped):
        detect("mobilenetv2", voc, **SETTINGS, out=tmp_path / "run", on_event=stop)
    assert not (tmp_path / "run" / "detector.safetensors").exists()
    seen: list[int] = []
    supernetic.resume(tmp_path / "run", on_event=lambda e: seen.append(e.done) if e.task == "train" else None)
    assert [n for n in seen if n] == [3, 4]  # behind the checkpoint of step 2
    for name in ("detector.safetensors", "detect.json", "validated.json", "shown.json", "detector/model.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (detected / name).read_bytes(), name


def test_boxes_in_new_images(detected: Path, voc: Path, tmp_path: Path) -> None:
    folder = voc / "JPEGImages"
    found = supernetic.find_boxes(
        detected / "detector", [folder / "image0.png", folder], top=2, draw=tmp_path / "drawn"
    )
    assert len(found.images) == 13
    assert all(len(i.boxes) <= 2 for i in found.images)
    assert len(list((tmp_path / "drawn").glob("*.png"))) == 12
    for box in (b for i in found.images for b in i.boxes):
        assert 0 <= box.box[0] <= box.box[2] <= 64
        assert box.score >= found.threshold
    assert len(found.lines()) == 13


@pytest.mark.slow
@pytest.mark.usefixtures("no_onnx")
def test_a_backbone_is_shrunk(voc: Path, tmp_path: Path) -> None:
    settings = {**SETTINGS, "steps": 1}
    detect("mobilenetv2", voc, **settings, shrink=0.6, out=tmp_path / "run")
    backbone = json.loads((tmp_path / "run" / "detect.json").read_text())["backbone"]
    assert 0.5 < backbone["macs"] / backbone["asked_macs"] <= 0.6
    assert backbone["cuts"]


def test_a_dry_run_writes_nothing(voc: Path, tmp_path: Path) -> None:
    result = detect("mobilenetv2", voc, minutes=5, dry_run=True, out=tmp_path / "run")
    assert "whether images may be mirrored is measured" in str(result)
    assert "as long as 5 min allow" in str(result)
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("no_onnx")
def test_with_minutes_the_steps_are_settled_once(voc: Path, tmp_path: Path) -> None:
    settings = {k: v for k, v in SETTINGS.items() if k != "steps"}
    result = detect("mobilenetv2", voc, **settings, minutes=0.01, out=tmp_path / "run")
    decided = json.loads((tmp_path / "run" / "decisions.jsonl").read_text())
    assert decided["steps"] == result.steps >= 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"minutes": 1.0}, "minutes or for steps"),
        ({"channels": 12}, "channels must be a multiple of 8, got 12"),
        ({"shrink": 1.5}, r"shrink must be a share .*, got 1\.5"),
        ({"image_size": 5000}, "image_size must be at most 4,096, got 5000"),
        ({"image_size": 32}, "image_size must be at least 64, got 32"),
        ({"backbone": "mobilenetv7"}, "unknown model 'mobilenetv7'"),
        ({"data": "nowhere"}, "nowhere does not exist"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    voc: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    call = {"backbone": "mobilenetv2", "data": voc, **SETTINGS, **change}
    with pytest.raises(InputError, match=message) as error:
        detect(**call, out=tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_a_run_of_other_settings_is_refused(detected: Path, voc: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(detected, tmp_path / "copy"))
    with pytest.raises(RunError, match="belongs to other settings"):
        detect("mobilenetv2", voc, **{**SETTINGS, "steps": 5}, out=copy)
