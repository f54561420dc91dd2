"""The pure parts of `benchmarks/outcome.py`: what is run again, tables, verdicts. Trainings are left out."""

from __future__ import annotations

import importlib.util
import json
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "outcome.py"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("outcome", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["outcome"] = module  # dataclasses look there for the module of a class
    spec.loader.exec_module(module)
    return module


outcome: Any = loaded()
ROW = outcome.Row("small", "embedded", 3, 1e6, seeds=(0, 1), entries=("search", "plain", "resnet", "timm"))


def entry(name: str, seed: int, accuracy: float, row: Any = ROW) -> dict[str, Any]:
    return {
        "row": row.name,
        "entry": name,
        "seed": seed,
        "minutes": row.minutes,
        **outcome._accuracy(accuracy, 2000),
        "macs": 981_000,
        "params": 29_600,
        "steps": 1234,
        "seconds": 176.2,
        "cpu_minutes": 2.5,
    }


def skipped(name: str, seed: int) -> dict[str, Any]:
    line = {"row": "small", "entry": name, "seed": seed, "minutes": 3, "skipped": "timm is not installed"}
    return {**line, "seconds": 1.0, "cpu_minutes": 0.0}


def by_key(*entries: dict[str, Any]) -> dict[Any, Any]:
    return {outcome.key_of(e): e for e in entries}


def test_the_table_is_what_the_record_promises() -> None:
    rows = {r.name: (r.data, r.minutes, r.limit, r.seeds) for r in outcome.TABLE}
    assert rows == {
        "embedded": ("embedded", 3, "macs<=1M", (0, 1)),
        "fashion-mnist": ("fashion-mnist", 10, "macs<=1M", (0, 1)),
        "cifar10": ("cifar10", 20, "macs<=3M", (0,)),
        "cifar10-hour": ("cifar10", 60, "macs<=3M", (0,)),
    }
    assert set(outcome.RATES) <= set(outcome.ENTRIES)
    assert all(set(r.entries) <= set(outcome.ENTRIES) for r in outcome.TABLE)


def test_recorded_entries_are_not_run_again(tmp_path: Path) -> None:
    file = tmp_path / "entries.jsonl"
    everything = [(ROW, name, seed) for seed in (0, 1) for name in ROW.entries]
    assert outcome.missing([ROW], ROW.entries, outcome.read_entries(file)) == everything
    for line in (entry("search", 0, 88), entry("plain", 1, 87), skipped("timm", 0)):
        outcome.add_line(file, line)
    with file.open("a") as torn:
        torn.write('{"row": "small", "entry": "resnet", "se')
    recorded = outcome.read_entries(file)
    left = outcome.missing([ROW], ROW.entries, recorded)
    assert left == [x for x in everything if x[1:] not in (("search", 0), ("plain", 1))]  # what was skipped is tried
    assert outcome.missing([ROW], ["plain"], recorded) == [(ROW, "plain", 0)]
    shorter = outcome.replace(ROW, minutes=0.3)
    assert len(outcome.missing([shorter], ROW.entries, recorded)) == len(everything)


def test_a_line_after_a_torn_one_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "entries.jsonl"
    outcome.add_line(file, entry("search", 0, 88))
    with file.open("a") as torn:
        torn.write('{"row": "small"')
    outcome.add_line(file, entry("plain", 0, 87))
    assert list(outcome.read_entries(file)) == [ROW.key("search", 0), ROW.key("plain", 0)]


@pytest.mark.parametrize(("search", "held"), [(87.0, True), (86.5, True), (86.49, False)])
def test_a_search_may_be_half_a_point_below_its_best_rival(search: float, held: bool) -> None:
    one = outcome.replace(ROW, seeds=(0,))
    found = outcome.verdict(one, by_key(entry("search", 0, search), entry("plain", 0, 87), entry("resnet", 0, 80)))
    assert (found.rival, found.best, found.search, found.held) == ("plain", 87, search, held)


def test_verdicts_are_of_means_over_the_same_seeds() -> None:
    searches = entry("search", 0, 86), entry("search", 1, 88)
    plain = entry("plain", 0, 89), entry("plain", 1, 84)
    found = outcome.verdict(ROW, by_key(*searches, *plain, entry("resnet", 0, 99), skipped("timm", 0)))
    assert (found.rival, found.difference) == ("plain", 0.5)  # one seed of a rival says nothing about the other
    assert outcome.verdict(ROW, by_key(*plain)) is None
    assert outcome.verdict(ROW, by_key(*searches, skipped("timm", 0), skipped("timm", 1))) is None


def test_other_processors_are_other_races() -> None:
    one = outcome.replace(ROW, seeds=(0,))
    search = {**entry("search", 0, 86), "processor": "A, AVX2"}
    here, elsewhere = ({**entry(n, 0, 87), "processor": p} for n, p in (("plain", "A, AVX2"), ("resnet", "A, AVX512")))
    assert outcome.verdict(one, by_key(search, elsewhere)) is None
    assert outcome.verdict(one, by_key(search, {**elsewhere, "test_accuracy": 99.0}, here)).rival == "plain"
    assert outcome.processor().count(", ") >= 1


def test_a_recorded_pace_is_that_of_the_search() -> None:
    search = {**entry("search", 0, 86), "processor": "A, AVX2"}
    place = {"row": ROW.name, "entry": "plain", "seed": 0, "minutes": ROW.minutes}
    pace = {**place, "steps": 1200, "seconds_per_step": 0.0241, "processor": "A, AVX2", "seconds": 20.0}
    assert outcome.pace_for(ROW, "plain", 0, by_key(search, pace)) == pace
    assert outcome.pace_for(ROW, "plain", 0, by_key(pace)) == pace  # the search may come later
    assert outcome.pace_for(ROW, "plain", 0, by_key(search, {**pace, "processor": "A, AVX512"})) is None
    assert outcome.pace_for(ROW, "resnet", 0, by_key(search, pace)) is None
    assert (ROW, "plain", 0) in outcome.missing([ROW], ROW.entries, by_key(search, pace))  # it is still to be trained
    assert outcome.shown(pace).endswith("seed 0: 1,200 steps at 24.1 ms, to be trained")


def test_a_pace_is_kept_for_a_training_elsewhere(tmp_path: Path) -> None:
    pace = {"steps": 1200, "seconds_per_step": 0.0241, "processor": "A, AVX2", "seconds": 20.0}
    outcome.write_pace(tmp_path, pace)
    kept = json.loads((tmp_path / outcome.PACE).read_text())
    assert kept == {"steps": 1200, "seconds_per_step": 0.0241, "processor": "A, AVX2"}


def test_the_markdown_table() -> None:
    other = outcome.Row("long", "cifar10", 60, 3e6, entries=("search", "resnet"))
    found = by_key(
        *(entry(name, seed, a) for name, a in (("search", 90), ("plain", 80)) for seed in (0, 1)),
        entry("resnet", 0, 70, other),
    )
    assert outcome.markdown([ROW, other], found).splitlines() == [
        "| data, MACs, time | search | plain | resnet | search minus best rival |",
        "| --- | --- | --- | --- | --- |",
        "| embedded, 1M, 3 min | 90.00 ± 1.31 | 80.00 ± 1.75 | - | +10.00 (plain) |",
        "| cifar10, 3M, 60 min | - | - | 70.00 ± 2.01 | - |",
    ]


def test_lines_for_people() -> None:
    assert outcome.shown(entry("plain", 1, 80)) == (
        "small         plain        seed 1: 80.00 % [78.19, 81.69]  981K MACs  29.6K params  1,234 steps  "
        "176 s of 180 s  2.50 CPU-minutes"
    )
    assert outcome.shown(skipped("timm", 0)).endswith("seed 0: skipped: timm is not installed")


def network(name: str, valid: float, role: str = "chosen", **more: Any) -> dict[str, Any]:
    return {"name": name, "role": role, "score": None, "trained": {"valid/accuracy": valid}, **more}


def test_the_recommended_network_of_a_search() -> None:
    networks = [network("a", 80), network("b", 85), network("c", 90, "random"), network("d", 99, failed="diverged")]
    assert outcome.recommended(networks)["name"] == "b"
    networks[0]["recommended"] = True
    assert outcome.recommended(networks)["name"] == "a"
    untrained = [{**network("e", 0), "trained": None, "score": {"valid/accuracy": 70}}, network("f", 60)]
    assert outcome.recommended(untrained)["name"] == "e"
    tested = network("g", 80, weights="inherited", test={"test/accuracy": 1}, inherited={"test/accuracy": 2})
    assert outcome._of_exported_weights(tested) == {"test/accuracy": 2}
    assert outcome._of_exported_weights({**tested, "weights": "trained"}) == {"test/accuracy": 1}


def test_the_pace_is_that_after_the_first_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(outcome, "time", lambda: clock[0])
    steps = []

    def train(watch: Any) -> None:
        for step in range(1, 1000):
            clock[0] += 20 if step == 1 else 0.25
            steps.append(step)
            watch(0, step, 1000)

    assert outcome._pace(train, 2.0) == 0.25
    assert len(steps) == 10  # two before the clock starts, eight on it


def test_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.syspath_prepend(str(FILE.parents[1] / "experiments"))
    monkeypatch.setattr("record.HERE", tmp_path)
    found = by_key(
        *(entry(name, seed, a) for name, a in (("search", 86), ("plain", 87)) for seed in (0, 1)), skipped("timm", 0)
    )
    outcome.write_record([ROW], ROW.entries, found)
    record = tomllib.loads((tmp_path / "outcome.toml").read_text())
    assert record["held"] is False
    assert "86.00 % against 87.00 % (plain, -1.00)" in record["sentence"]
    assert [e["entry"] for e in record["obtained"]["entries"]] == ["search", "plain", "timm", "search", "plain"]
    assert record["obtained"]["verdicts"]["small"]["difference"] == -1
    assert record["cpu_minutes"] == 10
