from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from supernetic.ranking.sentences import SPREAD_SENTENCE, outcome, table_sentences, tau_sentence, trust_sentences
from supernetic.ranking.verdict import agreement, compare

TAU: dict[str, Any] = {
    "score": "valid/cross_entropy",
    "truth": "valid/accuracy after training",
    "n": 7,
    "value": 0.52,
    "low": -0.05,
    "high": 0.86,
    "constant": False,
    "significant": False,
}


def contest(low: float, high: float, control: str = "random-1") -> dict[str, Any]:
    return {"model": "model-1", "control": control, "role": "random", "difference": low + 1, "low": low, "high": high}


def test_the_reason_is_told_the_first_time_only() -> None:
    said = trust_sentences({"tau": TAU, "comparisons": [contest(-1, 1), contest(0.5, 2, "largest")]})
    assert said == [
        "The agreement of validation cross-entropy with validation accuracy after training is not significant "
        "(the 95 % interval includes 0): tau +0.52 [-0.05, +0.86], n = 7.",
        "model-1 against random-1: not significant, +0.00 points [-1.00, +1.00].",
        "model-1 beats largest: +1.50 points [+0.50, +2.00].",
        SPREAD_SENTENCE,
    ]
    clear = {**TAU, "low": 0.2, "significant": True}
    said = trust_sentences({"tau": clear, "comparisons": [contest(-3, -1), contest(-1, 1), contest(-1, 0)]})
    assert said[0].startswith("Validation cross-entropy ranks networks as validation accuracy after training does: tau")
    assert said[1].startswith("model-1 loses to random-1: -2.00 points")
    assert said[2].startswith("model-1 against random-1: not significant (the 95 % interval includes 0), +0.00 points")
    assert said[3].startswith("model-1 against random-1: not significant, +0.00 points")


LONG = {"steps": [1140, 3400], "epochs": [12.16, 36.27], "seconds": 20.0}


def test_a_comparison_says_how_long_both_were_trained() -> None:
    won, lost, equal = (
        contest(0.5, 2),
        contest(-3, -1),
        {**contest(-1, 1), **LONG, "seconds": None, "steps": [800, 800]},
    )
    said = trust_sentences({"comparisons": [won | LONG, lost | LONG, equal | {"epochs": [8.5, 8.5]}]})
    alike = "Trained alike for 20 s (1,140 to 3,400 steps, 12 to 36 epochs), "
    assert said[0] == f"{alike}model-1 beats random-1: +1.50 points [+0.50, +2.00]."
    assert said[1] == f"{alike}model-1 loses to random-1: -2.00 points [-3.00, -1.00]."
    assert said[2].startswith(
        "Trained alike for 800 steps (8.5 epochs), model-1 against random-1: not significant (the"
    )


@pytest.mark.parametrize("epochs", [[1.9, 30.0], [30.0, 1.9]])
def test_nothing_is_won_by_a_training_that_is_too_short(epochs: list[float]) -> None:
    said = trust_sentences({"comparisons": [contest(18, 22) | LONG | {"epochs": epochs}]})[0]
    assert "beats" not in said
    assert said.endswith(
        "+19.00 points [+18.00, +22.00]. That is too short to tell how they compare when trained to the end."
    )
    assert "beats" in trust_sentences({"comparisons": [contest(18, 22) | LONG | {"epochs": [2.0, 2.0]}]})[0]


def test_a_tau_that_chance_can_give_is_not_blamed_on_its_interval() -> None:
    few = tau_sentence({**TAU, "n": 5, "value": 0.8, "low": 0.1})
    assert "not significant (n = 5 is too small: chance alone can give such a tau): tau +0.80" in few
    said = trust_sentences({"tau": {**TAU, "low": 0.1}, "comparisons": [contest(-1, 1)]})
    assert "(the 95 % interval includes 0)" in said[1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"low": -0.9, "high": -0.2, "value": -0.6}, "Do not trust this ranking."),
        ({"value": None, "low": None, "high": None, "n": 2}, "is unknown: n = 2 is too small."),
        ({"value": None, "low": None, "high": None, "constant": True}, "is unknown: all 7 are equal in one of them."),
        ({"value": None, "low": None, "high": None, "alike": True}, "is unknown: all 7 are equal in one of them."),
        ({"score": "table/mean_acc", "significant": True, "low": 0.2}, "Mean_acc ranks networks as"),
        ({"score": "vote/rank", "significant": True, "low": 0.2}, "Rank ensemble ranks networks as"),
    ],
)
def test_what_else_a_tau_can_say(changes: dict[str, Any], words: str) -> None:
    assert words in tau_sentence({**TAU, **changes})


def test_sentences_are_made_from_the_facts_of_a_record() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=30)
    tau = agreement("valid/accuracy", "valid/accuracy after training", truth.tolist(), truth.tolist())
    won = compare("a", "b", "random", np.arange(400) < 380, np.arange(400) < 320)
    record = json.loads(json.dumps({"tau": tau.to_json(), "comparisons": [won.to_json()], "table": None}))
    assert trust_sentences(record)[0].startswith("Validation accuracy ranks networks as")
    assert trust_sentences(record)[1].startswith("a beats b: +15.00 points")
    assert trust_sentences({}) == []


def test_an_interval_that_includes_0_is_not_significant() -> None:
    found = [outcome(0.1, 2), outcome(-2, -0.1), outcome(-0.1, 2), outcome(0, 1), outcome(-1, 0)]
    assert found == ["better", "worse", "not significant", "not significant", "not significant"]


def test_places_in_a_table() -> None:
    place = {"model": "model-2", "rank": 12, "value": 92.5, "no_larger": {"rank": 3, "of": 1200, "best": 92.7}}
    table = {"column": "mean_acc", "dataset": "CIFAR-10", "of": 3969, "best": 93.13, **place}
    sentence = (
        "In the benchmark's table (CIFAR-10, mean_acc), model-2 is number 12 of 3,969 (92.50, the best has 93.13), "
        "and number 3 of the 1,200 with no more MACs (the best has 92.70)."
    )
    assert table_sentences({**table, "models": [place]}) == [sentence] == table_sentences(table)
    assert len(table_sentences({**table, "models": [place, place]})) == 2
    assert table_sentences(None) == []
