from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.datasets import load
from supernetic.exporters.model import load_model
from supernetic.jobs.compare.test import _in_table
from supernetic.jobs.train.score import score
from supernetic.networks.pool import evaluate
from supernetic.ranking.ensemble import RANK
from supernetic.runs.directory import read_records, read_settings
from supernetic.runs.records import read_networks
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
    chosen = [r for r in read_networks(run) if r.chosen]
    assert {r.name for r in chosen} == {p.name for p in (run / "models").iterdir()}
    assert [r.recommended for r in chosen] == [True, *[None] * (len(chosen) - 1)]
    for record in chosen:
        metrics = evaluate(load_model(run / "models" / record.name), dataset, "test")[0]
        assert metrics == pytest.approx(record.exported_test, rel=1e-5)


def test_the_recommended_model_is_the_most_accurate_in_validation(run: Path) -> None:
    trained = {r.key: (r.trained or {})["valid/accuracy"] for r in read_networks(run)}
    (best,) = [r for r in read_networks(run) if r.recommended]
    assert best.name == "model-1"
    assert trained[best.key] == max(v for v in trained.values() if v is not None)
    assert {r["name"] for r in read(run, "trained.json")} >= {"candidate-1", "plain", "resnet", "largest", "random-1"}
    assert not any(r.first_key for r in read_networks(run))  # no time limit: all are trained alike, and no further


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
    assert trust["table"] is None  # which is of other images


def test_models_have_their_place_in_the_table_of_their_images(run: Path) -> None:
    table, space = catalog.table("macro").unique(), space_of(run, read_settings(run))
    macs, networks = costs_of(space, table.archs), read_networks(run)
    (first,) = [r for r in networks if r.recommended]
    by_hand = replace(first, name="model-2", arch=None)
    found = _in_table(space, "cifar10", [*networks, by_hand])
    assert found is not None
    assert found["of"] == 3969
    assert [p["model"] for p in found["models"]] == [r.name for r in networks if r.chosen and r.arch is not None]
    for place in found["models"]:
        own = next(r.macs or 0 for r in networks if r.name == place["model"])
        smaller = table["mean_acc"].values[macs <= own]
        assert place["no_larger"]["of"] == len(smaller)
        assert place["no_larger"]["rank"] == 1 + sum(smaller > place["value"])
