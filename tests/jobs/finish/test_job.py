"""A finish from beginning to end: what it changes, what it leaves alone, and interruptions everywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest
import torch

import supernetic
from supernetic.commands.resume import resume
from supernetic.datasets import Dataset, load
from supernetic.diagnostics import network_diagnostics
from supernetic.errors import InputError, RunError
from supernetic.exporters.model import read_card, verify
from supernetic.jobs.finish import write_back
from supernetic.jobs.finish.job import finish
from supernetic.jobs.finish.place import run_of
from supernetic.jobs.finish.result import FinishResult
from supernetic.networks.taught import write_targets
from supernetic.progress import Event
from supernetic.runs.directory import open_run, read_records, read_settings
from supernetic.runs.files import TARGETS
from supernetic.runs.records import NetworkRecord, TeacherRecord, networks_text, read_networks
from supernetic.training.checkpoint import read

VALID, TEST = "valid/accuracy", "test/accuracy"
STEPS = 40
TIMED = ("timings.jsonl", "report.html")  # differ from run to run
COMMAND = "from supernetic.jobs.finish.job import finish; finish({run!r}, 'model-1', **{settings!r})"


def record_of(run: Path, name: str = "model-1") -> NetworkRecord:
    return next(r for r in read_networks(run) if r.name == name)


def contents(run: Path) -> dict[str, bytes]:
    """Every file of a run but those that tell times, and the checkpoints of trainings."""
    files = [p for p in run.rglob("*") if p.is_file() and p.name not in (*TIMED, ".lock")]
    return {str(p.relative_to(run)): p.read_bytes() for p in files if "checkpoints" not in p.parts}


def value(record: NetworkRecord, metric: str) -> float:
    """A metric after all training."""
    found = {**(record.trained or {}), **(record.test or {})}[metric]
    assert found is not None
    return found


def share_right(logits: Any, data: Dataset, split: str) -> float:
    return 100 * float((np.asarray(logits).argmax(1) == data.labels[data.splits[split]]).mean())


# --- what it changes --------------------------------------------------------------------------------------------------


def test_every_file_that_speaks_of_the_model_says_the_same(run: Path) -> None:
    before = record_of(run)
    found = finish(run, "model-1", steps=STEPS)
    after, model = record_of(run), run / "models" / "model-1"
    assert found.replaced
    assert found.network == after
    assert after.steps == (before.steps or 0) + STEPS
    assert value(after, VALID) > value(before, VALID)
    # the record keeps what was before
    (told,) = after.finishes
    assert (told.steps, told.before_steps) == (STEPS, before.steps)
    assert told.before == {**(before.trained or {}), **(before.test or {})}
    assert (after.first_key, after.first, after.first_test) == (before.key, before.trained, before.test)
    # weights and ONNX file reach the accuracies of the record
    data = load(**read_settings(run)["load"])
    card, network = read_card(model), supernetic.load(model)
    session = onnxruntime.InferenceSession(model / "model.onnx")
    for split in ("valid", "test"):
        x, recorded = card.prepare(data.images[data.splits[split]]), value(after, f"{split}/accuracy")
        with torch.inference_mode():
            assert share_right(network(x), data, split) == recorded
        (logits,) = session.run(["logits"], {"images": x.numpy()})
        assert share_right(logits, data, split) == pytest.approx(recorded, abs=3)  # an image or two may be on the edge
        assert card.metrics[f"{split}/accuracy"] == recorded
    verify(model)
    weights, _ = read(run / "networks" / str(after.key) / "weights.safetensors")
    assert all(torch.equal(weights[n], t) for n, t in network.state_dict().items())
    # words and pages
    sentence = found.summary().splitlines()[0]
    assert sentence.startswith("After the search model-1 was trained further: 8 steps, then 40 more, 48 steps in all.")
    assert card.notes[-1] == sentence
    page = (run / "report.html").read_text()
    shown = f"{value(after, TEST):.2f}"
    assert "After the search model-1 was trained further: 8 steps, then 40 more, 48 steps in all." in page
    assert shown in page
    assert shown in sentence
    written = json.loads((run / "result.json").read_text())["networks"]
    assert written == [r.to_json() for r in read_networks(run)]
    # diagnostics and the file in 8-bit integers are of the new weights
    assert found.network.keys == (before.key, after.key)
    assert network_diagnostics(run, "model-1").accuracy == pytest.approx(value(after, TEST))
    session = onnxruntime.InferenceSession(model / "model.int8.onnx")
    x = card.prepare(data.images[data.splits["test"]])
    (logits,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert after.int8 is not None
    assert share_right(logits, data, "test") == after.int8["test/accuracy"]
    assert (model / "model.int8.onnx").read_bytes() == (run / "int8" / "model-1.onnx").read_bytes()
    # which images are right: the difference and its interval follow from them
    right = json.loads((run / "correct.json").read_text())
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(right["finished"]["model-1"]), np.uint8), count=right["images"])
    assert 100 * bits.mean() == value(after, TEST)
    assert told.difference is not None
    assert told.difference[0] == pytest.approx(value(after, TEST) - value(before, TEST), abs=1e-3)
    assert told.difference[1] < told.difference[0] < told.difference[2]
    assert json.loads((run / "finishes" / "1" / "result.json").read_text()) == found.to_json()


@pytest.mark.usefixtures("no_onnx")
def test_other_networks_and_the_comparison_stay(run: Path, searched: Path) -> None:
    finish(run, "model-1", steps=STEPS)
    assert read_networks(run)[1:] == read_networks(searched)[1:]
    for name in ("trust.json", "trained.json", "finished.json", "search.json", "trials.jsonl", "run.toml"):
        assert (run / name).read_bytes() == (searched / name).read_bytes()


@pytest.mark.usefixtures("no_onnx")
def test_one_finish_after_another_begins_with_the_last(run: Path) -> None:
    finish(run, "model-1", steps=STEPS)
    middle = record_of(run)
    finish(run, "model-1", steps=20)
    last = record_of(run)
    assert read_settings(run / "networks" / str(last.key))["start"] == _digest(run, middle)
    assert [f.steps for f in last.finishes] == [STEPS, 20]
    assert last.finishes[1].before == {**(middle.trained or {}), **(middle.test or {})}
    assert last.steps == (middle.steps or 0) + 20
    (first, second) = (read_settings(run / "networks" / str(r.key))["seed"] for r in (middle, last))
    assert first != second  # else the same images would come in the same order
    assert "8 steps, then 40 more, then 20 more, 68 steps in all" in read_card(run / "models" / "model-1").notes[-1]


def _digest(run: Path, record: NetworkRecord) -> str:
    return str(read(run / "networks" / str(record.key) / "weights.safetensors")[1]["sha256"])


@pytest.mark.usefixtures("no_onnx")
def test_a_control_becomes_a_model_directory(run: Path) -> None:
    found = finish(run, "plain", steps=STEPS)
    assert Path(found.path) == run / "models" / "plain"
    assert read_card(found.path).metrics["test/accuracy"] == value(record_of(run, "plain"), TEST)
    assert record_of(run, "plain").role == "plain"
    better = value(record_of(run, "plain"), VALID) > value(record_of(run), VALID)
    assert bool(found.notes) == better


@pytest.mark.usefixtures("no_onnx")
def test_a_recipe_of_the_users_comes_first(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('title = "gentle"\nlr = 0.01\nbatch_size = 32\nschedule = "cosine"\n')
    found = finish(run, "model-1", steps=STEPS, recipe=tmp_path / "mine.toml")
    made = read_settings(run / "networks" / str(found.network.key))["recipe"]
    assert (made["lr"], made["batch_size"], made["schedule"], made["length"]) == (0.01, 32, "cosine", "40 steps")
    assert "then 40 more by the recipe 'gentle'" in found.summary()


@pytest.mark.usefixtures("no_onnx")
def test_by_default_the_recipe_goes_on_where_a_long_training_would_be(run: Path) -> None:
    found = finish(run, "model-1", steps=STEPS)
    own = read_settings(run)["retrain_recipe"]
    made = read_settings(run / "networks" / str(found.network.key))["recipe"]
    assert made["augment"] == own["augment"]
    assert made["lr"] == pytest.approx(own["lr"] * STEPS / (STEPS + 8), rel=0.2)  # warm-up


@pytest.mark.usefixtures("no_onnx")
@pytest.mark.parametrize("own_recipe", [False, True])
def test_what_a_teacher_said_counts_as_before(own_recipe: bool, run: Path, tmp_path: Path) -> None:
    """Its answers are all wrong here, and the network comes to believe them."""
    data = load("embedded", limit=400, seed=0)
    wrong = torch.nn.functional.one_hot((torch.from_numpy(data.labels) + 1) % 10, 10).float()
    write_targets(run / TARGETS, wrong)
    teacher = TeacherRecord("ResNet", 700_000, 9_000, "ab12", 900, {VALID: 99.0}, True)
    records = [replace(r, teacher=teacher) if r.name == "model-1" else r for r in read_networks(run)]
    (run / "networks.json").write_text(networks_text(records))
    (tmp_path / "mine.toml").write_text("lr = 0.1\nbatch_size = 32\n")
    found = finish(run, "model-1", steps=STEPS, recipe=tmp_path / "mine.toml" if own_recipe else None)
    trained = sorted((run / "networks").iterdir(), key=lambda path: path.stat().st_mtime)[-1]
    assert ("targets" in read_settings(trained)) == (not own_recipe)
    assert found.replaced == own_recipe  # validation images decide


# --- what it leaves alone ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_onnx")
@pytest.mark.parametrize(("rate", "message"), [(3.0, "validation accuracy would be"), (1e30, "the training diverged")])
def test_worse_weights_are_not_kept(rate: float, message: str, run: Path, tmp_path: Path) -> None:
    good = finish(run, "model-1", steps=STEPS)
    before = contents(run)
    (tmp_path / "wild.toml").write_text(f"lr = {rate}\nbatch_size = 64\n")
    found = finish(run, "model-1", steps=5, recipe=tmp_path / "wild.toml")
    assert not found.replaced
    assert found.network == good.network
    assert found.summary().startswith(f"model-1 stays as it was: {'after 5 more steps ' * (rate < 10)}{message}")
    after = contents(run)
    assert {k: after[k] for k in before} == before
    assert {k.partition("/")[0] for k in after.keys() - before.keys()} == {"networks", "finishes"}
    finish(run, "model-1", steps=5)
    assert [p.name for p in sorted((run / "finishes").iterdir())] == ["1", "2", "3"]


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("model-9", {"steps": 1}, "has no network 'model-9': choose from model-1, "),
    ("baseline", {"steps": 1}, "baseline has no blueprint"),
    ("model-1", {"steps": 1, "minutes": 1}, "either minutes or steps, got minutes=1 and steps=1"),
    ("model-1", {}, "either minutes or steps, got neither"),
    ("model-1", {"steps": 0}, "steps must be at least 1, got 0"),
    ("model-1", {"minutes": -1}, "minutes must be more than 0 and finite, got -1"),
    ("model-1", {"steps": 1, "workers": 3}, "3 processes cannot share batches of 128"),
    ("model-1", {"steps": 1, "device": "tpu"}, "unknown device 'tpu'"),
    ("model-1", {"steps": 1, "recipe": "nowhere.toml"}, "nowhere.toml: not readable as TOML"),
]


@pytest.mark.parametrize(("model", "settings", "message"), BAD)
def test_bad_input_is_named_and_nothing_is_changed(
    model: str, settings: dict[str, Any], message: str, run: Path
) -> None:
    before = contents(run)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        finish(run, model, **settings)
    assert "\n" not in str(caught.value)
    assert contents(run) == before


def test_runs_that_hold_no_trained_networks_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"is not a run: it has no run\.toml"):
        finish(tmp_path / "nowhere", "model-1", steps=1)
    (run / "exported.json").unlink()
    with pytest.raises(RunError, match=r"is not finished: it has no exported\.json; `supernetic resume"):
        finish(run, "model-1", steps=1)
    supernetic.search_table("nasbench201", searcher="random", evaluations=4, out=tmp_path / "table")
    with pytest.raises(RunError, match="is a run of 'table-search': only those of search and scale on images"):
        finish(tmp_path / "table", "model-1", steps=1)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("run.toml", r"^seed = \d+", 'seed = "x"', "seed must be a whole number, got 'x'"),
        ("run.toml", r"(?s)^\[data\]$.*?(?=^\[)", "", "data.fingerprint must be text, got nothing"),
        ("run.toml", r"^\[load\]$", "[load]\nevil = 1", "load: .*'evil'"),
        ("correct.json", r"(?s).*", "[]", "correct.json must be a table of tables, one of them `finished`"),
        ("correct.json", r'"int8": {.*?}', '"int8": []', "correct.json must be a table of tables, one of them `int8`"),
        ("quantised.json", r"(?s).*", "[]", "quantised.json must be a table, got list"),
        ("predictions.json", r'"labels": ".', '"labels": "!', "labels must be an array in base64"),
        ("mistakes.json", r"(?s).*", "[]", "mistakes.json must be a table, got list"),
    ],
)
def test_a_damaged_run_is_refused_before_anything_is_trained(
    file: str, old: str, new: str, message: str, run: Path
) -> None:
    text = (run / file).read_text()
    damaged = re.sub(old, lambda _: new, text, count=1, flags=re.M)
    assert damaged != text
    (run / file).write_text(damaged)
    trained = sorted((run / "networks").iterdir())
    with pytest.raises(RunError, match=message):
        finish(run, "model-1", steps=STEPS)
    assert sorted((run / "networks").iterdir()) == trained
    assert not (run / "finishes").exists()


def test_a_run_in_use_is_refused(run: Path) -> None:
    settings = {k: v for k, v in read_settings(run).items() if k != "versions"}
    with open_run(run, settings), pytest.raises(RunError, match="is in use by another process"):
        finish(run, "model-1", steps=1)
    assert not (run / "finishes").exists()


@pytest.mark.parametrize(("change", "message"), [("gone", "does not exist"), ("other", "was made with other data")])
def test_data_that_are_gone_or_changed_are_named(change: str, message: str, run: Path, tmp_path: Path) -> None:
    file = tmp_path / "data.npz"
    settings = (run / "run.toml").read_text()
    (run / "run.toml").write_text(settings.replace('source = "embedded"\nlimit', f'source = "{file}"\nlimit', 1))
    assert str(file) in (run / "run.toml").read_text()
    if change == "other":
        data = load("embedded", limit=400)
        np.savez(file, images=data.images, labels=data.labels, classes=np.array(data.classes))
    before = contents(run)
    with pytest.raises(InputError, match=message):
        finish(run, "model-1", steps=1)
    assert contents(run) == before


# --- interruptions ----------------------------------------------------------------------------------------------------


def killed(run: Path, moment: Callable[[Path], bool], settings: Mapping[str, Any], before: str = "") -> None:
    """Start a finish in a process of its own and kill it at a moment."""
    code = before + COMMAND.format(run=str(run), settings=dict(settings))
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "OMP_NUM_THREADS": "1"})
    until = time.monotonic() + 300
    while not moment(run) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()


MOMENTS: dict[str, Callable[[Path], bool]] = {
    "begin": lambda run: (run / "finishes/1/run.toml").exists(),
    "train": lambda run: any((run / "networks").glob("*/checkpoints/network/*")) and _begun(run),
    "test": lambda run: (run / "finishes/1/trained.json").exists(),
    "commit": lambda run: (run / "finishes/1/finish.json").exists(),
    "export": lambda run: "finishes" in (run / "networks.json").read_text(),
    "swapped": lambda run: "further" in _text(run / "models/model-1/README.md"),
}


def _begun(run: Path) -> bool:
    return any((run / "networks").glob("*/metrics.jsonl")) and (run / "finishes/1/before.json").exists()


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


@pytest.mark.slow
def test_killed_at_every_moment_it_ends_with_the_same_bytes(run: Path, searched: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(searched, whole)
    finish(whole, "model-1", steps=400)
    for moment in MOMENTS.values():
        killed(run, moment, {"steps": 400})
        assert not (run / "finishes/1/result.json").exists()
        if (run / "models/model-1").exists():  # between two moves of the swap there is none
            verify(run / "models/model-1")
    resume(run)
    expected, found = contents(whole), contents(run)
    assert found.keys() == expected.keys()
    paths = {k for k in expected if expected[k].replace(str(whole).encode(), str(run).encode()) != found[k]}
    assert not paths


@pytest.mark.parametrize("broken", ["export_network", "write_report"])
def test_interrupted_after_the_commit_the_next_call_completes_it(
    broken: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(write_back, broken, interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            finish(run, "model-1", steps=STEPS)
    assert f"`supernetic resume {run / 'finishes' / '1'}` goes on" in caught.value.__notes__
    assert record_of(run).finishes  # committed
    with pytest.raises(RunError, match=f"interrupted: `supernetic resume {re.escape(str(run))}` goes on with it"):
        finish(run, "model-1", steps=STEPS + 1)
    found = resume(run)
    assert isinstance(found, FinishResult)
    assert found.network == record_of(run)
    assert len(record_of(run).finishes) == 1
    assert read_card(run / "models" / "model-1").metrics["test/accuracy"] == value(found.network, TEST)
    assert "was trained further" in (run / "report.html").read_text()
    assert not isinstance(resume(run), FinishResult)  # nothing is left to do: the search answers


def test_a_finish_is_found_however_it_is_written(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.parent)
    assert run_of(Path("run/finishes/1")) == (Path("run"), Path("run/finishes/1"))
    (run / "finishes" / "1").mkdir(parents=True)
    monkeypatch.chdir(run / "finishes" / "1")
    assert run_of(Path()) == (run, run / "finishes" / "1")
    monkeypatch.chdir(run / "finishes")
    assert run_of(Path("1")) == (run, run / "finishes" / "1")
    for wrong in (run, run / "networks" / "1"):
        with pytest.raises(RunError, match="is no finish of a run: it must be RUN/finishes/NUMBER"):
            run_of(wrong)


@pytest.mark.usefixtures("no_onnx")
def test_minutes_are_kept_to_and_decisions_too(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted in the second of several parts, it goes on as it was decided."""
    monkeypatch.setattr("supernetic.jobs.compare.last_training.PART_S", 1.0)
    monkeypatch.setattr("supernetic.jobs.finish.job.REPORT_S", 0.0)
    parts = 0

    def interrupt(event: Event) -> None:
        nonlocal parts
        parts += event.task == "train" and 0 < event.done == event.total
        if parts == 1 and event.task == "train" and event.done < event.total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish(run, "model-1", minutes=0.3, workers=1, on_event=interrupt)
    place = run / "finishes" / "1"
    told = read_records(place / "decisions.jsonl")
    assert [r["decision"] for r in told] == ["finish-1", "finish-2"]
    begin = time.monotonic()
    found = finish(run, "model-1", minutes=0.3, workers=1)
    assert time.monotonic() - begin < 60
    assert read_records(place / "decisions.jsonl")[:2] == told
    assert found.steps == sum(r["steps"]["model-1"] for r in read_records(place / "decisions.jsonl"))
    rates = [r["lr"] for r in _rates(run, found.network) if "lr" in r]  # validation has its own lines
    assert rates == sorted(rates, reverse=True)  # the last part has no warm-up, and ends at nothing
    assert rates[-1] < 0.05 * rates[0] + 0.01


def _rates(run: Path, record: NetworkRecord) -> list[dict[str, Any]]:
    return read_records(run / "networks" / str(record.key) / "metrics.jsonl")


@pytest.mark.slow
def test_several_processes_train_it_together_if_they_are_asked_to(run: Path) -> None:
    found = finish(run, "model-1", steps=STEPS, workers=2)
    assert read_settings(run / "networks" / str(found.network.key))["processes"] == 2
    assert found.network.steps == 8 + STEPS


# --- other runs -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_with_the_supernets_weights(tmp_path: Path) -> None:
    small: dict[str, Any] = {
        "space": "macro:channels=4,resolution=8,head=16", "where": ["macs<=60K"], "steps": 12, "retrain": "none",
        "population": 4, "generations": 2, "keep": 1, "limit": 400, "workers": 1, "threads": 1,
    }  # fmt: skip
    run = Path(supernetic.search(**small, out=tmp_path / "run").run)
    before = record_of(run)
    assert before.exports_inherited
    found = finish(run, "model-1", steps=STEPS)
    after = record_of(run)
    assert (after.steps, after.weights, after.inherited) == (STEPS, "trained", before.test)
    assert "the supernet's weights, then 40 more, 40 steps in all" in found.summary()
    assert after.finishes[0].difference is not None
    assert "Its training began with the weights of the supernet." in read_card(found.path).notes


@pytest.mark.slow
def test_a_member_of_a_family(tmp_path: Path) -> None:
    small: dict[str, Any] = {
        "space": "macro:channels=4,resolution=8,head=16", "stages": 1, "extrapolate": 0, "steps": 3,
        "network_steps": 2, "bases": 1, "rounds": 1, "population": 2, "generations": 2, "order": 4, "limit": 300,
        "workers": 1, "threads": 1,
    }  # fmt: skip
    family = supernetic.scale(**small, out=tmp_path / "run")
    run, name = Path(family.run), next(iter(family.models))
    found = finish(run, name, steps=STEPS)
    assert found.replaced
    assert f"After the search {name} was trained further: 2 steps, then 40 more" in (run / "report.html").read_text()
    again = resume(run)
    assert f"After the search {name} was trained further" in str(again)
