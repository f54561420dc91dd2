from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from supernetic.reports.recommendation import recommendation
from supernetic.runs.records import NetworkRecord, TeacherRecord

TRUST: dict[str, Any] = {"rounds": 3, "steps_per_epoch": 333.5, "test_images": 10_000}
MODEL = NetworkRecord(
    "model-1", "chosen", label="ABC", arch=(1, 2), macs=2_990_000, params=71_300, key="last", first_key="first",
    steps=12_340, trained={"valid/accuracy": 85.0}, first={"valid/accuracy": 70.0}, test={"test/accuracy": 84.2},
    first_test={"test/accuracy": 69.0}, latency={"latency/ms": 0.4123, "engine": "onnx"}, weights="trained",
    recommended=True,
)  # fmt: skip
CHEAP = NetworkRecord(
    "model-2", "chosen", arch=(1, 1), macs=1_794_000, key="cheap", steps=1000, trained={"valid/accuracy": 81.0},
    test={"test/accuracy": 80.1}, weights="trained",
)  # fmt: skip
LOST = replace(CHEAP, name="candidate-3", role="candidate", weights="")
PLAIN = replace(LOST, name="plain", role="plain", label="plain stack of 3x3 convolutions", arch=None, against="model-1")
FAILED = replace(PLAIN, name="resnet", role="resnet", failed="the loss became NaN")


def test_what_to_take_and_why() -> None:
    assert recommendation([MODEL, CHEAP, LOST, PLAIN, FAILED], TRUST) == [
        "Take model-1: 84.20 % of the test images right [83.5, 84.9], 2.99M MACs, 71.3K parameters, 0.412 ms an image "
        "(onnx, one thread).",
        "Why: it won a race of 4 networks in 3 rounds, by the validation accuracy to be expected at the end, and was "
        "trained for 12,340 steps (37 epochs) in all.",
        "model-2 costs 40 % less (1.794M MACs): 80.10 % of the test images right [79.3, 80.9], trained for 1,000 steps "
        "(3 epochs). That is short beside model-1: `supernetic finish` trains it further.",
    ]


@pytest.mark.parametrize("asked", [True, False])
def test_a_teacher_is_named_and_whether_the_model_learnt_from_it(asked: bool) -> None:
    teacher = TeacherRecord("ResNet", 20_000_000, 481_000, "key", 6_670, {"valid/accuracy": 91.25}, asked)
    _, why = recommendation([replace(MODEL, teacher=teacher), PLAIN], TRUST)
    told = "learnt from a larger network as well" if asked else "did not learn from the teacher, which knew no more "
    assert why.split(". It ")[1].startswith(told)
    assert why.endswith(": a ResNet of 20M MACs, 91.25 % of the validation images right after 6,670 steps (20 epochs).")


@pytest.mark.parametrize("steps", [None, 6170])
def test_only_a_model_with_few_steps_is_called_short(steps: int | None) -> None:
    assert "finish" not in recommendation([MODEL, replace(CHEAP, steps=steps)], TRUST)[-1]


def test_a_run_that_recommends_nothing_says_nothing() -> None:
    assert recommendation([replace(MODEL, recommended=None), PLAIN], TRUST) == []


@pytest.mark.parametrize(
    ("model", "others", "rounds", "words"),
    [
        (
            MODEL,
            [PLAIN],
            1,
            "of 2 networks that were trained alike, and was trained for 12,340 steps (37 epochs) in all.",
        ),
        (
            replace(MODEL, first_key=None, steps=667),
            [PLAIN],
            0,
            "it had the best validation accuracy of 2 networks that were trained alike, for 667 steps (2 epochs).",
        ),
        (
            replace(MODEL, first_key=None),
            [],
            1,
            "the time was too short for a race, so it is the only network that was",
        ),
        (
            replace(MODEL, arch=None, label="plain stack of 3x3 convolutions"),
            [LOST],
            3,
            "model-1 is the plain stack of 3x3 convolutions: no network of the space did better in the race.",
        ),
        (
            replace(MODEL, arch=None, label="ResNet"),
            [replace(LOST, steps=44), replace(LOST, name="candidate-4", steps=50)],
            2,
            "better in the race, but 44 to 50 steps are too short to tell how they compare when trained to the end.",
        ),
        (replace(MODEL, arch=None, label="ResNet"), [], 1, "model-1 is the ResNet, not a network of the space."),
        (
            replace(MODEL, trained=None, key=None, first_key=None, steps=None),
            [LOST],
            0,
            "of 2 networks, it is the best with the supernet's weights.",
        ),
        (
            replace(MODEL, weights="inherited", inherited={"test/accuracy": 88.0}),
            [LOST],
            3,
            "Its weights are the supernet's: on validation images they are better than those of its own training.",
        ),
    ],
)
def test_reasons(model: NetworkRecord, others: list[NetworkRecord], rounds: int, words: str) -> None:
    assert words in recommendation([model, *others], {**TRUST, "rounds": rounds})[1]


def test_the_accuracy_is_that_of_the_weights_that_are_handed_over() -> None:
    inherited = replace(MODEL, weights="inherited", inherited={"test/accuracy": 88.0})
    assert recommendation([inherited, PLAIN], TRUST)[0].startswith("Take model-1: 88.00 %")


def test_what_is_not_known_is_left_out() -> None:
    bare = replace(MODEL, latency=None, params=None)
    assert recommendation([bare, PLAIN], {}) == [
        "Take model-1: 84.20 % of the test images right, 2.99M MACs.",
        "Why: it had the best validation accuracy of 2 networks that were trained alike, and was trained for 12,340 "
        "steps in all.",
    ]
