"""Models in 8-bit integers: made from training images, tested once, exported as they were tested."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest

from supernetic.commands.export import export
from supernetic.commands.predict import predict
from supernetic.datasets import Dataset, load
from supernetic.datasets.batches import Batches
from supernetic.errors import InputError, RunError, SupernetError, UnknownNameError
from supernetic.exporters import int8 as quantiser
from supernetic.exporters import onnx
from supernetic.exporters.model import load_model, read_int8, verify
from supernetic.jobs.compare.int8 import quantise_network, stored_int8
from supernetic.jobs.compare.quantise import quantise_models
from supernetic.jobs.search.request import SearchRequest
from supernetic.progress import Event
from supernetic.ranking.verdict import paired_interval
from supernetic.runs.directory import Run
from supernetic.runs.records import NetworkRecord, read_networks

Bools = np.ndarray[Any, np.dtype[np.bool_]]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load(limit=400, resolution=8)


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    place = tmp_path / "copy"
    shutil.copytree(run, place)
    return place


def chosen(run: Path) -> list[NetworkRecord]:
    return [r for r in read_networks(run) if r.chosen]


def right(file: Path, data: Dataset, split: str) -> Bools:
    """What a file gets right, in a session of its own."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    ((images, labels),) = Batches(data, split, 1000).evaluate()
    (logits,) = session.run(["logits"], {"images": np.ascontiguousarray(images.numpy())})
    answers: Bools = logits.reshape(len(labels), -1).argmax(axis=1) == labels.numpy()
    return answers


def test_the_files_do_what_is_said_of_them(run: Path, data: Dataset) -> None:
    packed = json.loads((run / "correct.json").read_text())
    assert chosen(run)
    for record in chosen(run):
        model, facts = run / "models" / record.name, record.int8
        assert facts is not None
        quantised, floats = (right(model / name, data, "test") for name in ("model.int8.onnx", "model.onnx"))
        assert facts["test/accuracy"] == pytest.approx(100 * quantised.mean())
        assert facts["test/difference"] == pytest.approx(100 * (quantised.mean() - floats.mean()))
        low, high = paired_interval(quantised, floats)
        assert (facts["test/low"], facts["test/high"]) == pytest.approx((100 * low, 100 * high))
        assert facts["valid/accuracy"] == pytest.approx(100 * right(model / "model.int8.onnx", data, "valid").mean())
        assert facts["valid/images"] == len(data.splits["valid"])
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(packed["int8"][record.name]), np.uint8), count=len(floats))
        assert (bits.astype(bool) == quantised).all()
        assert (facts["latency/ms"] or 0) > 0
        assert facts["latency/float_ms"] == (record.latency or {})["latency/ms"]
        said = verify(model)["int8"]
        sizes = {
            "bytes": (model / "model.int8.onnx").stat().st_size,
            "float_bytes": (model / "model.onnx").stat().st_size,
        }
        assert said == {**facts, **sizes}
        card = (model / "README.md").read_text()
        assert f"| {100 * floats.mean():.2f} % | {100 * quantised.mean():.2f} % |" in card


def test_the_report_and_the_last_lines_say_it(finished: Any, run: Path) -> None:
    page = (run / "report.html").read_text()
    assert "In 8-bit integers" in page
    assert "model-1/model.int8.onnx" in page
    facts = chosen(run)[0].int8 or {}
    assert f"model-1 in int8: {facts['test/accuracy']:.2f} % of the test images right" in "\n".join(finished.lines())


def test_only_training_images_make_the_file(run: Path, data: Dataset) -> None:
    network = load_model(run / "models" / "model-1")
    made = (run / "int8" / "model-1.onnx").read_bytes()
    assert made == (run / "models" / "model-1" / "model.int8.onnx").read_bytes()

    def spoilt(*splits: str) -> Dataset:
        images = data.images.copy()
        for split in splits:
            images[data.splits[split]] = 255 - images[data.splits[split]] // 2
        other = replace(data, images=images)
        other.__dict__["moments"] = data.moments  # images are prepared as before
        return other

    assert quantise_network(network, spoilt("valid", "calibrate", "test"), 0).data == made
    assert quantise_network(network, spoilt("train"), 0).data != made


def test_predict_runs_it(run: Path) -> None:
    model = run / "models" / "model-1"
    floats, quantised = (predict(model, ["embedded"], top=1, engine=e).predictions[:200] for e in ("onnx", "int8"))
    same = [a.classes == b.classes for a, b in zip(floats, quantised, strict=True)]
    assert np.mean(same) > 0.8
    assert [p.probabilities for p in floats] != [p.probabilities for p in quantised]


def test_a_model_without_it_says_how_to_get_it(copy: Path, tmp_path: Path) -> None:
    model = copy / "models" / "model-1"
    export(model, out=tmp_path, name="plain", int8="no")
    assert read_int8(tmp_path / "plain") is None
    with pytest.raises(InputError, match=r"plain has no model\.int8\.onnx"):
        predict(tmp_path / "plain", ["embedded"], engine="int8")
    with pytest.raises(UnknownNameError, match="int8"):
        export(model, int8="perhaps")
    with pytest.raises(UnknownNameError, match="int8"):
        SearchRequest(int8="yes")
    export(model, out=tmp_path, name="kept")
    assert read_int8(tmp_path / "kept") == read_int8(model), "another name, the same file"


def test_other_networks_of_a_run_are_quantised_when_they_are_exported(copy: Path, tmp_path: Path) -> None:
    control = next(r.name for r in read_networks(copy) if not r.chosen)
    (made,) = export(copy, name=control, out=tmp_path).models
    assert made.int8 is not None
    assert made.int8["valid/images"] == 30
    assert "test/accuracy" not in made.int8, "the test split is over"
    before = (tmp_path / control / "model.json").read_bytes()
    export(copy, name=control, out=tmp_path)
    assert (tmp_path / control / "model.json").read_bytes() == before


def test_a_changed_file_is_noticed(copy: Path) -> None:
    record = chosen(copy)[0]
    assert stored_int8(copy, record) is not None
    file = copy / "int8" / "model-1.onnx"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(RunError, match=r"model-1\.onnx was changed"):
        stored_int8(copy, record)
    file.unlink()
    file.symlink_to("/etc/hostname")
    with pytest.raises(RunError, match=r"model-1\.onnx"):
        stored_int8(copy, record)


def again(run: Path, data: Dataset) -> list[str]:
    """Take the step once more; what it says."""
    (run / "quantised.json").unlink()
    said: list[Event] = []
    comparison: Any = type("Comparison", (), {"dataset": data, "seed": 0})()
    quantise_models(comparison, Run(run, {}, -1), said.append)
    return [e.text for e in said]


def test_the_step_gives_the_same_bytes_again(copy: Path, data: Dataset) -> None:
    before = (copy / "quantised.json").read_bytes()
    assert not [text for text in again(copy, data) if "has no int8 file" in text]
    assert (copy / "quantised.json").read_bytes() == before


def test_without_the_extra_it_says_what_to_install(copy: Path, data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "have_onnx", lambda: False)
    (text,) = again(copy, data)
    assert "supernetic[export]" in text
    assert stored_int8(copy, chosen(copy)[0]) is None


def test_a_network_that_cannot_be_quantised_ends_no_search(
    copy: Path, data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> bytes:
        raise SupernetError("onnxruntime cannot quantise the network: because")

    monkeypatch.setattr(quantiser, "quantise", fail)
    texts = again(copy, data)
    assert len([t for t in texts if "has no int8 file: onnxruntime cannot quantise" in t]) == len(chosen(copy))
    assert stored_int8(copy, chosen(copy)[0]) is None
