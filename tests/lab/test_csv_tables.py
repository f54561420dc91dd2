from __future__ import annotations

import csv
import io
from math import nan

from supernetic.lab.claims import judge, read_claim
from supernetic.lab.csv_tables import claims_csv, measures_csv, summary_csv
from supernetic.lab.seed_spread import Spread


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_number_has_a_line() -> None:
    found = rows(measures_csv([("a, b", 0, {"tau": 0.5, "rho": nan}), ("a, b", "all", {"tau_a": -1.0})]))
    assert found[0] == {"variant": "a, b", "seed": "0", "metric": "tau", "value": "0.5"}
    assert found[1]["value"] == ""
    assert found[2] == {"variant": "a, b", "seed": "all", "metric": "tau_a", "value": "-1"}


def test_means_and_claims() -> None:
    means = rows(summary_csv({"a": {"tau": Spread(2, 0.5, 0.1, 0.2, 0.8)}}))
    assert means == [
        {"variant": "a", "metric": "tau", "seeds": "2", "mean": "0.5", "sd": "0.1", "low": "0.2", "high": "0.8"}
    ]
    made = read_claim({"text": 'a "good" one', "metric": "tau", "variant": "a", "at_least": 0.5}, ["a"])
    found = rows(claims_csv([judge(made, {"a": {0: 0.75}}, exact=True)]))[0]
    assert (found["claim"], found["verdict"], found["difference"]) == ('a "good" one', "held", "0.25")
