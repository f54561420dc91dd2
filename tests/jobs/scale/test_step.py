import json
from pathlib import Path

import pytest

from supernetic.jobs.scale.result import Family
from supernetic.runs.directory import read_records
from supernetic.scaling.generalise import generalise


def test_what_the_search_leaves(run: Path) -> None:
    record = json.loads((run / "scale.json").read_text())
    chain = read_records(run / "chain.jsonl")
    assert [s["round"] for s in chain] == list(range(len(chain)))
    assert len(record["strategies"]) == 1
    d, w, r = record["strategies"][0]["factors"]
    low, high = record["strategies"][0]["depths"]
    assert d == pytest.approx((low + high) / 2)
    used = next(c for c in record["curves"] if c["family"] == record["curve"])
    assert used["values"][0] == pytest.approx(list(generalise([(d, w, r)], "exponential")(1)))
    assert set(record["ties"]) == {"middle", "smallest", "largest"}
    assert record["order"]["n"] == 4
    assert {way: len(masses) for way, masses in record["sampling"].items()} == {"size": 2, "uniform": 2, "plain": 2}
    assert all(0 <= m <= 1 for masses in record["sampling"].values() for m in masses)
    assert record["evaluations"] == len(read_records(run / "trials.jsonl"))


def test_networks_are_records_that_export_reads(run: Path, finished: Family) -> None:
    from supernetic.jobs.compare.export import read_network
    from supernetic.runs.records import read_networks

    records = read_networks(run)
    chosen = [r for r in records if r.chosen]
    assert [r.name for r in chosen] == ["s0", "s1"]
    network = read_network(run, chosen[1])
    assert network.blueprint.classes == 10
    score, arch = chosen[0].score, chosen[0].arch
    assert score is not None
    assert (score["valid/cross_entropy"] or 0) > 0
    assert arch is not None
    assert finished.chain[-1]["base"] == list(arch[4:])
