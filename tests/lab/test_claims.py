from __future__ import annotations

import json
from typing import Any

import pytest

from supernetic.errors import InputError
from supernetic.lab.claims import judge, read_claim, read_condition

VALUES = {"a": {0: 0.50, 1: 0.52, 2: 0.51}, "b": {0: 0.30, 1: 0.31, 2: 0.33}, "c": {0: 0.50, 1: 0.49, 2: 0.53}}
BASE = {"text": "so it is", "metric": "tau"}


def verdict(**table: Any) -> str:
    return judge(read_claim({**BASE, **table}, list(VALUES)), VALUES).verdict


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"variant": "a", "above": "b"}, "held"),
        ({"variant": "a", "below": "b"}, "did not hold"),
        ({"variant": "b", "below": "a"}, "held"),
        ({"variant": "a", "above": "c"}, "not significant"),
        ({"variant": "a", "below": "c"}, "not significant"),
        ({"variant": "a", "not_above": "c"}, "held"),  # within the margin of .05
        ({"variant": "a", "not_above": "c", "margin": 0.001}, "not significant"),
        ({"variant": "a", "not_above": "b"}, "did not hold"),
        ({"variant": "b", "not_above": "a"}, "held"),
        ({"variant": "a", "not_below": "b"}, "held"),
        ({"variant": "b", "not_below": "a"}, "did not hold"),
        ({"variant": "a", "at_least": 0.4}, "held"),
        ({"variant": "a", "at_most": 0.4}, "did not hold"),
        ({"variant": "a", "at_most": 0.515}, "not significant"),
    ],
)
def test_verdicts(table: dict[str, Any], expected: str) -> None:
    assert verdict(**table) == expected


def test_one_seed_is_never_significant_but_exact_numbers_are() -> None:
    made = read_claim({**BASE, "variant": "a", "above": "b"}, ["a", "b"])
    values = {"a": {0: 1.0}, "b": {0: 0.0}}
    assert judge(made, values).verdict == "not significant"
    assert judge(made, values, exact=True).verdict == "held"
    assert judge(read_claim({**BASE, "variant": "a", "at_most": 1}, ["a"]), values, exact=True).verdict == "held"
    assert judge(made, {}).verdict == "not measured"


def test_a_verdict_in_words() -> None:
    found = judge(read_claim({**BASE, "variant": "a", "above": "b"}, list(VALUES)), VALUES)
    assert found.sentence().startswith("held: tau of a minus b is +0.197 [+0.")
    assert found.sentence().endswith("3 seeds")
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["verdict"] == "held"
    unknown = judge(read_claim({**BASE, "variant": "a", "above": "b"}, list(VALUES)), {}).to_json()
    assert unknown["value"] is None
    assert unknown["sentence"] == "not measured: tau has no value"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"variant": "d", "above": "a"}, "unknown variant"),
        ({"variant": "a", "above": "d"}, "unknown variant"),
        ({"variant": "a"}, "needs one of above"),
        ({"variant": "a", "above": "b", "below": "c"}, "needs one of above"),
        ({"variant": "a", "at_most": "b"}, "must be a number"),
        ({"variant": "a", "above": "b", "margin": -1}, "margin"),
        ({"variant": "a", "abov": "b"}, "did you mean 'above'"),
        ({"above": "b"}, "needs text, metric and variant"),
    ],
)
def test_bad_claims_are_refused(table: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_claim({**BASE, **table}, list(VALUES))


def test_claims_are_undecided_while_the_condition_is_not_met() -> None:
    condition = read_condition({"metric": "tau", "variant": "a", "at_least": 0.3}, ["a", "b"])
    assert condition is not None
    assert condition.unmet({"a": {0: 0.5, 1: 0.4}, "b": {0: 0.0}}) == ""
    assert condition.unmet({"a": {0: 0.3, 1: 0.1}}) == "tau of a is 0.200, at least 0.3 is needed"
    assert "not measured" in condition.unmet({})
    assert read_condition({}, ["a"]) is None
    for bad, said in (
        ({"metric": "tau", "variant": "c", "at_least": 0.3}, "variant in the condition"),
        ({"metric": "tau", "variant": "a"}, "got no at_least"),
        ({"metric": "tau", "variant": "a", "at_least": "high"}, "at_least must be a number"),
        ({"metrics": "tau"}, "key of the condition"),
    ):
        with pytest.raises(InputError, match=said):
            read_condition(bad, ["a", "b"])
