from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from supernetic.reports.sections.models import models
from supernetic.runs.view import read_run

Make = Callable[..., Path]


def test_the_table_says_how_long_each_was_trained(make: Make) -> None:
    shown = models(read_run(make(race=True)))
    assert shown["table_head"] == [
        "test", "MACs", "parameters", "latency", "steps", "epochs", "validation",
        "first round, validation", "first round, test", "supernet's cross-entropy",
    ]  # fmt: skip
    head = shown["table_head"]
    cells = {
        m.name: dict(zip(head, (c.replace("\N{NO-BREAK SPACE}", " ") for c in row), strict=True))
        for m, _, _, row in shown["table_rows"]
    }
    best = cells["model-1"]
    assert (best["test"], shown["intervals"]["model-1"]) == ("90.00 %", "88.6 to 91.2")
    assert (best["steps"], best["epochs"]) == ("12,340", "132")
    assert [best[h] for h in head[6:9]] == ["90.50 %", "81.50 %", "80.25 %"]
    plain = cells["plain"]
    assert plain["test"] == plain["first round, test"], "it was trained in the first round only"
    what = {m.name: text for m, text, _, _ in shown["table_rows"]}
    assert what["candidate-2"].startswith("lost the race: ")
    assert what["random-2"] == "random, within the limits", "its MACs are not those of the recommended model"


def test_the_table_has_what_is_known(make: Make) -> None:
    early, late = models(read_run(make("early", until="search"))), models(read_run(make("late")))
    assert early["table_head"] == ["MACs", "parameters", "supernet's cross-entropy"]
    assert late["table_head"] == [
        "test", "MACs", "parameters", "validation", "supernet's cross-entropy",
    ]  # fmt: skip
    by_name = {m.name: (what, cells) for m, what, _, cells in late["table_rows"]}
    assert by_name["random-2"][0] == "random, as many MACs as model-2"
    assert by_name["mobilenetv2"][1][-1] == "–"
