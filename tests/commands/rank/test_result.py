from __future__ import annotations

import json
from pathlib import Path

import pytest

from supernetic.commands.rank.command import rank
from supernetic.commands.rank.result import Against

STABLE = {"tau", "tau_scalenet", "tau_b", "spearman", "pearson", "n", "interval", "top_n"}


def test_json_is_plain_and_stable() -> None:
    record = rank(truth="c10_test_200", score="macs").to_json()
    assert set(record) >= STABLE
    assert [set(g) for g in record["top_n"]] == [{"n", "tau", "interval", "mean_score"}] * 6
    assert [g["n"] for g in record["top_n"]] == [10, 25, 50, 150, 250, 500]
    assert len(record["interval"]) == 2
    assert record["truth_split"] == "test"
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_what_is_undefined_is_null(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("arch,score,acc\n00000000,1,1\n00000001,1,2\n")
    result = rank("macro", score="score", truth="acc", table=path)
    record = result.to_json()
    assert record["tau"] == 0
    assert record["tau_b"] is None
    assert record["interval"] == [None, None]
    assert any("includes 0" in w for w in result.warnings)
    assert "undefined" in str(result)


def test_summary_for_people() -> None:
    lines = rank(truth="c10_test_200", score="c10_valid_12").lines()
    assert lines[0].startswith("c10_valid_12 against c10_test_200 (CIFAR-10, test, 200 epochs")
    assert any("+0.594" in line for line in lines)
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize(
    ("interval", "verdict"), [((0.1, 0.3), "better"), ((-0.3, -0.1), "worse"), ((-0.1, 0.3), "not significant")]
)
def test_a_comparison_says_no_more_than_its_interval(interval: tuple[float, float], verdict: str) -> None:
    line = Against("macs", sum(interval) / 2, interval, 0.0, (float("nan"), float("nan"))).line()
    assert line.strip().startswith(f"against      macs: {verdict}, tau ")
    assert line.endswith("in top 10 % +0.000 ")
