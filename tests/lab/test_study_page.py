from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from supernetic.errors import RunError
from supernetic.lab.study_page import page, write_study

NUMBERS = {"n": 2, "mean": -0.25, "sd": 0.125, "low": -0.5, "high": 0.0}
CLAIM = {"text": "it <helps>", "metric": "tau_a", "variant": "a", "relation": "below", "n": 2, "sentence": ""}


def record(**other: Any) -> dict[str, Any]:
    return {
        "title": "Does <it> help?",
        "source": "Single-path ranking correlations",
        "scale": "small",
        "trainings": 4,
        "cpu_minutes": 3.25,
        "data": "/data/cifar10",
        "seeds": [0, 1],
        "variants": ["a", "b"],
        "shown": ["tau_a", "missing"],
        "table": {"a": {"tau_a": NUMBERS, "tau@10": NUMBERS}, "b": {"tau_a": {**NUMBERS, "sd": None}}},
        "claims": [
            {**CLAIM, "verdict": "held", "other": "b", "value": -0.5, "low": -0.7, "high": -0.3},
            {**CLAIM, "verdict": "not measured", "other": 0.5, "value": None, "low": None, "high": None, "n": 0},
        ],
        "figures": [{"title": "All & more", "caption": "", "variants": ["a", "b"], "metrics": []}],
        "measured": [{"variant": "a", "seed": 0, "values": {}, "details": {}}],
        "failed": {"b, seed 1": "diverged"},
        "settings": {"a": {"space": "macro", "recipe": {"lr": 0.1}}, "b": {"space": "macro"}},
        "measure": {"kind": "ranking", "truth": "mean_acc"},
        "runs": {"a, seed 0": "runs/x"},
        **other,
    }


def test_the_page_says_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(json.dumps(record()))
    text = write_study(tmp_path).read_text()
    HTMLParser().feed(text)
    assert "Does &lt;it&gt; help?" in text
    assert "it &lt;helps&gt;" in text
    assert "tau_a, a − b: −0.500 [−0.700, −0.300], 2\N{NO-BREAK SPACE}seeds" in text
    assert "−0.250\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.125" in text
    assert "1 held and 1 not measured" in text
    assert "3.2 CPU-minutes" in text
    assert "diverged" in text
    assert "<it>" not in text
    plot = ET.parse(tmp_path / "figures" / "1-1.svg").getroot()
    assert plot.tag == "{http://www.w3.org/2000/svg}svg"
    assert "--front:" in str(plot[0].text)
    assert [t.text for t in plot.iter("{http://www.w3.org/2000/svg}text")][-2:] == ["a", "b"]


def test_the_page_asks_nothing_of_a_network(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(json.dumps(record()))
    text = write_study(tmp_path).read_text()
    assert not re.search(r"(src|href)=\"(https?:)?//", text)
    assert "default-src &#39;none&#39;" in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_tables_leave_out_what_is_not_known() -> None:
    (_, _, _, _, (heads, rows)) = page(record(), "x")["figures"][0]
    assert heads == ["tau_a"]
    assert rows[1] == ("b", ["−0.250"])
    mistake = {"better": "a", "worse": "b", "truth": [2.0, 1.0], "score": [0.1, 0.2]}
    wrong = record(measured=[{"variant": "a", "seed": 0, "values": {}, "details": {"mistakes": [mistake]}}])
    assert page(wrong, "x")["mistakes"] == [("a, seed 0", [mistake])]


def test_a_directory_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be read"):
        write_study(tmp_path)
