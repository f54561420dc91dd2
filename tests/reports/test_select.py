from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import RunError
from supernetic.reports.select import RECORD, page, write_select


def metric(values: list[float]) -> dict[str, list[float | None]]:
    return {"mean": [*values], "sd": [0.01, None], "low": [v - 0.1 for v in values], "high": [v + 0.1 for v in values]}


@pytest.fixture
def record() -> dict[str, Any]:
    """Two models at two sizes; the names need escaping."""
    names = ["<a>", "b"]
    worth = {"gain": 0.1, "gain_low": 0.0, "gain_high": 0.2, "low": 0.3, "high": 0.5, "value": 0.4, "best": 0.5}
    return {
        "data": "mine & yours",
        "on": "valid",
        "scored": 123,
        "models": names,
        "sizes": [50, 1000],
        "seeds": [4, 2],
        "table": {"calibrated_cross_entropy": {"<a>": [1.0, 0.5]}, "error": {"<a>": [30.0, 12.0]}},
        "notes": ["seeds are few"],
        "profiles": {
            n: {
                "calibrated_cross_entropy": metric([1.0 + i, 0.5 - i / 10]),
                "cross_entropy": metric([1.2, 0.7]),
                "error": metric([30.0, 12.0 + i]),
            }
            for i, n in enumerate(names)
        },
        "agreements": [
            {"metric": m, "target": t, "size": 50, "tau": -1.0, "low": -1.0, "high": 0.5, "top": False, "sure": 0.25}
            for m in ("calibrated_cross_entropy", "cross_entropy", "error")
            for t in dict.fromkeys((m, "error"))
        ],
        "contests": [{"target": "own", "value": 0.2, "low": -0.1, "high": 0.4}],
        "costs": {n: [7840, 7850] for n in names},
        "rates": dict.fromkeys(names, 0.002),
        "decision": {
            "model": "<a>",
            "sure": 0.9,
            "stable_from": 50,
            "significant_from": None,
            "stable_by_error": 50,
            "best_by_error": "<a>",
            "rivals": [{"model": "b", "difference": 0.1, "low": -0.1, "high": 0.3, "significant": False}],
            "worth": [{"model": n, "times": t, **worth} for n in names for t in (2, 4)],
            "checks": [{"model": "b", "value": 0.5, "low": 0.4, "high": 0.6, "true": 0.7}],
            "lengths": [{"model": "b", "total": 693.147, "low": 600.0, "high": 800.0, "labels": 1000}],
        },
        "recipe": {"title": "t", "lr": 1.0, "batch_size": 3, "optimiser": "adam"},
    }


def test_the_page_says_all_and_escapes_it(record: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text(json.dumps(record))
    text = write_select(tmp_path).read_text()
    for said in (
        "Take &lt;a&gt;: calibrated cross-entropy 0.500 nats", "Its lead over b is not significant (the 95 % interval",
        "mine &amp; yours", "seeds are few", "123 images of the valid split", "<td>not significant</td>",
    ):  # fmt: skip
        assert said in text
    assert "<a>" not in text
    assert text.count('<svg class="plot"') == 3 + 1 + 1
    assert "http" not in text.replace("http-equiv", "")


def test_tables_are_in_order(record: dict[str, Any]) -> None:
    values = page(record, "run")
    assert [row[0] for row in values["models"][1]] == ["b", "<a>"]
    assert values["rankings"][0][1][1] == [["1", "<a>", "b"], ["2", "b", "<a>"]]
    assert values["lengths"][1][0][1] == "1.000"
    assert values["checks"][1][0][-1] == "no"
    assert values["agreement"][1][1][0][1].endswith("another best (25 %)")


def test_one_size_has_neither_agreement_nor_curve(record: dict[str, Any], tmp_path: Path) -> None:
    record["agreements"], record["contests"] = [], []
    record["decision"].update(worth=[], checks=[])
    (tmp_path / RECORD).write_text(json.dumps(record))
    text = write_select(tmp_path).read_text()
    assert "<h2>What more data would be worth" not in text
    assert "tau" not in text.partition("<script")[0].partition("</style>")[2].replace("status", "")


def test_a_run_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"select\.json cannot be read"):
        write_select(tmp_path)
