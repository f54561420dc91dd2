from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from supernetic.jobs.compare import test as step
from supernetic.jobs.compare.test import judge
from supernetic.runs.directory import open_run
from supernetic.runs.records import NetworkRecord, networks_text, read_networks
from supernetic.spaces.macro import Macro

IMAGES = 100
RIGHT = {"first": 60, "last": 90, "plain": 70, "lost": 50, "inherited": 40}  # test images by the key of the weights
CHOSEN = NetworkRecord(
    "model-1", "chosen", arch=(1,) * 8, macs=9, key="last", first_key="first", steps=500, recommended=True,
    trained={"valid/accuracy": 88.0}, first={"valid/accuracy": 61.0}, score={"valid/accuracy": 3.0}, weights="trained",
)  # fmt: skip
LOST = NetworkRecord(
    "candidate-1", "candidate", key="lost", steps=40, trained={"valid/accuracy": 52.0}, score={"valid/accuracy": 2.0}
)
PLAIN = NetworkRecord("plain", "plain", "model-1", key="plain", steps=80, trained={"valid/accuracy": 72.0})
FIRST_ROUND = [
    NetworkRecord("candidate-2", "chosen", key="first", steps=62),
    NetworkRecord("candidate-1", "chosen", key="lost", steps=40),
    NetworkRecord("plain", "plain", key="plain", steps=80),
]


@dataclass
class Lab:
    """A run whose networks are only keys of weights."""

    path: Path
    comparison: Any
    timed: list[str] = field(default_factory=list)

    def test(self, *records: NetworkRecord, race: bool = True) -> None:
        plan = {"rounds": [20.0, 9.0]} if race else {"rounds": 8}
        with open_run(self.path, {"job": "search", "plan": plan}) as run:
            run.write("trained.json", networks_text(FIRST_ROUND if race else records))
            if race:
                run.write("finished.json", networks_text(records))
                steps = ("round-1", "round-2", "cheaper", "finish")
                run.append("decisions.jsonl", [{"decision": name, "steps": {}} for name in steps])
            step.test_networks(self.comparison, run, lambda _: None)
            judge(self.comparison, run)

    def read(self, name: str) -> Any:
        return json.loads((self.path / name).read_text())


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    splits = {"train": range(800), "test": range(IMAGES)}
    data = SimpleNamespace(name="toys", splits=splits)
    space = Macro(channels=4, resolution=8, head=16)
    recipe = SimpleNamespace(batch_size=32)
    lab = Lab(
        tmp_path / "run",
        SimpleNamespace(
            dataset=data,
            space=space,
            recipe=recipe,
            score="valid/accuracy",
            compares_finished=False,
            decides="valid/accuracy",
        ),
    )
    (tmp_path / "run").mkdir()

    class Predictions:
        """Stands for networks that are tested."""

        def __init__(self, _: Any) -> None:
            self.write = lambda _: None

        def tested(self, record: NetworkRecord, field: str, key: str) -> tuple[dict[str, float], Any]:
            return {"test/accuracy": float(RIGHT[key])}, np.arange(IMAGES) < RIGHT[key]

    def timed(key: str) -> dict[str, Any]:
        lab.timed.append(key)
        return {"latency/ms": 0.5, "engine": "onnx"}

    monkeypatch.setattr(step, "load_trained", lambda _comparison, _run, record, key=None: key or record.key)
    monkeypatch.setattr(step, "load_inherited", lambda *_: "inherited")
    monkeypatch.setattr(step, "PredictionsOfTest", Predictions)
    monkeypatch.setattr(step, "measured_latency", timed)
    return lab


def test_a_network_that_went_on_is_tested_after_the_first_round_too(lab: Lab) -> None:
    lab.test(CHOSEN, LOST, PLAIN)
    model, lost, plain = read_networks(lab.path)
    assert (model.test, model.first_test) == ({"test/accuracy": 90.0}, {"test/accuracy": 60.0})
    assert (plain.test, plain.first_test) == ({"test/accuracy": 70.0}, None)
    assert lost.test == {"test/accuracy": 50.0}
    correct = lab.read("correct.json")
    bits = {k: {n: bin(int(h, 16)).count("1") for n, h in correct[k].items()} for k in ("networks", "finished")}
    assert bits == {"networks": {"model-1": 60, "candidate-1": 50, "plain": 70}, "finished": {"model-1": 90}}


def test_latency_is_measured_of_models_only(lab: Lab) -> None:
    lab.test(CHOSEN, LOST, PLAIN)
    assert len(lab.timed) == 1
    assert [r.latency is not None for r in read_networks(lab.path)] == [True, False, False]


def test_comparisons_are_between_networks_that_were_trained_alike(lab: Lab) -> None:
    lab.test(CHOSEN, LOST, PLAIN)
    trust = lab.read("trust.json")
    (contest,) = trust["comparisons"]  # a candidate that lost is no control
    assert (contest["model"], contest["control"]) == ("model-1", "plain")
    assert contest["difference"] == pytest.approx(-10), "90 % came of a longer training"
    assert (contest["steps"], contest["epochs"], contest["seconds"]) == ([62, 80], [2.48, 3.2], 20.0)
    assert (trust["rounds"], trust["steps_per_epoch"], trust["test_images"]) == (2, 25.0, IMAGES)


def test_the_score_is_judged_by_the_first_round(lab: Lab) -> None:
    """In the end, the winner is ahead because it was trained for longer."""
    third = NetworkRecord(
        "random-1", "random", key="plain", trained={"valid/accuracy": 70.0}, score={"valid/accuracy": 9.0}
    )
    lab.test(CHOSEN, LOST, third)
    assert lab.read("trust.json")["tau"]["value"] == 1.0


def test_a_win_after_too_short_a_training_does_not_count(lab: Lab) -> None:
    lab.comparison.recipe.batch_size = 1
    lab.test(CHOSEN, LOST, NetworkRecord("random-1", "random", "model-1", key="lost", steps=40))
    trust = lab.read("trust.json")
    assert trust["comparisons"][0]["low"] > 0
    assert trust["comparisons"][0]["epochs"] == [0.08, 0.05]
    assert (trust["beaten"], trust["of"]) == (0, 1)


def test_without_a_race_steps_are_equal(lab: Lab) -> None:
    """As in a scaling job, whose plan has rounds of another kind."""
    model = NetworkRecord("s1", "chosen", key="last", steps=62, weights="trained", inherited_weights=True)
    lab.test(model, NetworkRecord("compound-1", "compound", "s1", key="plain", steps=62), race=False)
    record, trust = read_networks(lab.path)[0], lab.read("trust.json")
    assert (record.test, record.inherited, record.first_test) == (
        {"test/accuracy": 90.0},
        {"test/accuracy": 40.0},
        None,
    )
    assert len(lab.timed) == 1
    assert trust["rounds"] == 0
    assert trust["comparisons"][0]["seconds"] is None
    assert trust["comparisons"][0]["steps"] == [62, 62]
    assert trust["comparisons"][0]["difference"] == pytest.approx(20)
    assert lab.read("correct.json")["finished"] == {}


def test_supernet_weights_alone_have_no_footing(lab: Lab) -> None:
    model = NetworkRecord("model-1", "chosen", weights="inherited", inherited_weights=True)
    lab.test(model, NetworkRecord("random-1", "random", "model-1", inherited_weights=True), race=False)
    assert read_networks(lab.path)[0].test == {"test/accuracy": 40.0}
    assert lab.read("trust.json")["comparisons"][0]["steps"] is None


@pytest.mark.parametrize(("name", "known"), [("cifar10", True), ("CIFAR-10", True), ("embedded", False)])
def test_a_benchmark_is_mentioned_only_for_its_own_images(lab: Lab, name: str, known: bool) -> None:
    lab.comparison.dataset.name = name
    plain = NetworkRecord("model-2", "chosen", label="plain stack of 3x3 convolutions", key="plain", steps=80)
    lab.test(CHOSEN, plain)  # the second one is not of the space
    table = lab.read("trust.json")["table"]
    assert (table is not None) == known
    if table:
        assert [p["model"] for p in table["models"]] == ["model-1"]


def test_the_metric_that_decides_is_named_where_it_is_not_accuracy(lab: Lab) -> None:
    lab.test(CHOSEN, LOST, PLAIN)
    assert "decides" not in lab.read("trust.json")
    lab.comparison.decides = "valid/f1"
    one, two = (
        NetworkRecord(f"model-{i}", "chosen", key="last", trained={"valid/f1": 9.0 - i}, score={"valid/accuracy": i})
        for i in (1, 2)
    )
    third = NetworkRecord("random-1", "random", key="lost", trained={"valid/f1": 1.0}, score={"valid/accuracy": 3})
    (lab.path / "decisions.jsonl").unlink()
    lab.test(one, two, third)
    trust = lab.read("trust.json")
    assert trust["decides"] == "valid/f1"
    assert (trust["tau"]["truth"], trust["tau"]["value"]) == ("valid/f1 after training", -1.0)
