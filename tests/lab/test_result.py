from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from supernetic.lab.result import StudyResult, numbers

RESULT = StudyResult(
    title="T",
    run="runs/t",
    page="runs/t/report.html",
    trainings=4,
    done=1,
    seconds=None,
    scoring_seconds=None,
    cpu_minutes=1.25,
    variants=("none", "identity"),
    seeds=(0, 1),
    table={"none": {"tau_a": {"mean": -0.5, "sd": 0.1}}, "identity": {"tau_a": {"mean": 0.25, "sd": None}}},
    claims=({"text": "helps", "sentence": "not significant: ..."},),
    failed={"none, seed 1": "diverged"},
    shown=("tau_a",),
)


def test_a_result_is_told_to_people_and_to_programs() -> None:
    text = str(RESULT)
    assert "2 variants, 2 seeds: 4 trainings, 1 of them done before; 1.2 CPU-minutes in all" in text
    assert "-0.500 ±0.100" in text
    assert "failed: none, seed 1: diverged" in text
    assert json.loads(json.dumps(RESULT.to_json()))["table"]["identity"]["tau_a"]["sd"] is None


def test_large_numbers_do_not_run_into_one_another() -> None:
    large: dict[str, float | None] = {"mean": 1_687_504.0, "sd": 0.0}
    table = {"none": {"macs": large, "params": large}, "identity": {"macs": large, "params": large}}
    told = str(replace(RESULT, table=table, shown=("macs", "params")))
    assert told.count("  1687504.000 ±0.000  1687504.000 ±0.000\n") == 2


def test_the_record_agrees_with_the_tables(finished: Path) -> None:
    record = json.loads((finished / "study.json").read_text())
    values = [m["values"]["tau@random"] for m in record["measured"] if m["variant"] == "none"]
    assert record["table"]["none"]["tau@random"]["mean"] == sum(values) / 2
    assert record["pooled"]["none"]["joint tau_a"] == record["table"]["none"]["joint tau_a"]["mean"]
    lines = (finished / "measures.csv").read_text().splitlines()
    assert sum(line.startswith("none,all,") for line in lines) == 1
    assert sum(",tau@random," in line for line in lines) == 4


def test_numbers_that_are_undefined_are_null() -> None:
    assert numbers({"a": float("nan"), "b": 1.0}) == {"a": None, "b": 1.0}
