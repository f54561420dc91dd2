from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.datasets import load
from supernetic.exporters.model import load_model
from supernetic.jobs.train.score import score
from supernetic.networks.pool import evaluate
from supernetic.ranking.ensemble import RANK
from supernetic.runs.directory import read_records, read_settings
from supernetic.runs.space_record import space_of
from supernetic.spaces.macro import Macro


def read(run: Path, name: str) -> Any:
    return json.loads((run / name).read_text())


def test_the_front_is_of_the_trials_and_keeps_the_limits(run: Path) -> None:
    trials = read_records(run / "trials.jsonl")
    found = read(run, "search.json")
    assert found["evaluations"] == len(trials) == 6 * 4
    good = [t["metrics"] for t in trials if t["status"] == "ok"]
    assert len(found["front"]) >= len(found["chosen"]) >= 2
    for record in found["front"]:
        mine = record["metrics"]
        assert mine["cost/macs"] <= 60_000
        assert not any(m["cost/macs"] <= mine["cost/macs"] and m[RANK] > mine[RANK] for m in good)
    assert [g["evaluations"] for g in found["generations"]] == [6, 12, 18, 24]
    assert found["first"] == 6


def test_scores_are_those_of_the_supernet(run: Path) -> None:
    record = next(r for r in read(run, "networks.json") if r["role"] == "chosen")
    space = Macro(channels=4, resolution=8, head=16, in_channels=1)
    again = score(run, space, [tuple(record["arch"])])[0]
    assert again["valid/cross_entropy"] == pytest.approx(record["score"]["valid/cross_entropy"], rel=1e-6)


def test_what_is_handed_over_is_what_was_tested(run: Path) -> None:
    dataset = load(limit=400, resolution=8)
    chosen = [r for r in read(run, "networks.json") if r["role"] == "chosen"]
    assert {r["name"] for r in chosen} == {p.name for p in (run / "models").iterdir()}
    for record in chosen:
        metrics = evaluate(load_model(run / "models" / record["name"]), dataset, "test")[0]
        assert metrics == pytest.approx(record["test"], rel=1e-5)


def test_nothing_is_trained_twice_and_the_test_split_comes_last(run: Path) -> None:
    records = read(run, "networks.json")
    keys = {r["key"] for r in records}
    assert {p.name for p in (run / "networks").iterdir()} == keys
    for key in keys:
        assert "test" not in (run / "networks" / key / "result.json").read_text()
    order = [r.get("task") for r in read_records(run / "timings.jsonl")]
    assert order.index("compare") < order.index("test") < order.index("export")


def test_trust_is_stated_with_its_number(run: Path) -> None:
    trust = read(run, "trust.json")
    scored = [r for r in read(run, "networks.json") if r["score"] and r["trained"]]
    assert trust["tau"]["n"] == len(scored)
    assert trust["of"] == len(trust["comparisons"])
    assert trust["beaten"] == sum(c["low"] > 0 for c in trust["comparisons"])
    assert trust["table"]["of"] == 3969
    table = catalog.table("macro").unique()
    macs = costs_of(space_of(run, read_settings(run)), table.archs)
    assert [p["model"] for p in trust["table"]["models"]] == [r["name"] for r in scored if r["role"] == "chosen"]
    for place in trust["table"]["models"]:
        own = next(r["macs"] for r in scored if r["name"] == place["model"])
        smaller = table["mean_acc"].values[macs <= own]
        assert place["no_larger"]["of"] == len(smaller)
        assert place["no_larger"]["rank"] == 1 + sum(smaller > place["value"])
