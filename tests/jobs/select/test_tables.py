from __future__ import annotations

import csv
from math import log
from pathlib import Path

import pytest


def rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text().splitlines()))


def test_means_are_those_of_the_trainings(finished: Path) -> None:
    trainings, profiles = rows(finished / "trainings.csv"), rows(finished / "profiles.csv")
    assert len(trainings) == 3 * (2 + 2 + 1 + 1)
    assert len(profiles) == 3 * 4 * 3  # metrics, sizes, models
    for p in profiles:
        own = [float(t[p["metric"]]) for t in trainings if (t["model"], t["images"]) == (p["model"], p["images"])]
        assert int(p["seeds"]) == len(own)
        assert float(p["mean"]) == pytest.approx(sum(own) / len(own), rel=1e-4)
        assert float(p["low"]) <= float(p["mean"]) <= float(p["high"])
        assert (p["sd"] == "") == (len(own) == 1)
    places = [p["place"] for p in profiles if (p["metric"], p["images"]) == ("error", "320")]
    assert sorted(places) == ["1", "2", "3"]


def test_bits_are_nats_by_log_2(finished: Path) -> None:
    lines = rows(finished / "mdl.csv")
    assert [line["model"] for line in lines] == ["logistic", "mlp:width=8,depth=1", "convnet:width=2,depth=1"]
    for line in lines:
        assert float(line["bits"]) == pytest.approx(float(line["nats"]) / log(2), rel=1e-4)
        assert float(line["bits_per_label"]) == pytest.approx(float(line["bits"]) / 320, rel=1e-4)
        assert float(line["nats"]) >= 40 * log(10)


def test_agreement_has_every_metric_below_the_largest_size(finished: Path) -> None:
    found = {(a["metric"], a["target"], a["images"]) for a in rows(finished / "agreement.csv")}
    assert {n for _, _, n in found} == {"40", "80", "160"}
    assert len(found) == 3 * 5
