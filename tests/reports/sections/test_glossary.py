from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from supernetic.reports.sections.glossary import glossary
from supernetic.runs.view import read_run

Make = Callable[..., Path]


def test_only_words_of_this_run_are_explained(make: Make) -> None:
    path = make(race=True)
    groups = dict(glossary(read_run(path))["groups"])
    terms = dict(groups["Terms"])
    assert {"Tau", "Supernet", "Round", "Control"} <= terms.keys()
    assert "Rank ensemble" not in terms
    assert groups["Blocks"][0][0] == "MBe_Kk"
    assert groups["Names of architectures"][0][0] == "22210202"
    (path / "ensemble.json").write_text('{"proxy/naswot": [1, 2], "proxy/layers": [1, 2]}')
    groups = dict(glossary(read_run(path))["groups"])
    assert "Rank ensemble" in dict(groups["Terms"])
    assert [name for name, _ in groups["Zero-cost proxies of the score"]] == ["NASWOT", "layers"]


def test_a_run_of_the_first_minute_needs_none(make: Make) -> None:
    assert glossary(read_run(make(until="plan"))) == {}
