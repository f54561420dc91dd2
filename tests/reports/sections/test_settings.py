from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from supernetic.reports.sections.settings import again
from supernetic.runs.view import read_run

Make = Callable[..., Path]


def test_there_is_no_recipe_of_a_supernet_that_was_not_trained(make: Make) -> None:
    path = make()
    assert ("recipe of the supernet", "default") in again(read_run(path))["facts_of_run"]
    (path / "metrics.jsonl").unlink()
    assert not any("supernet" in name and "version" not in name for name, _ in again(read_run(path))["facts_of_run"])


def test_steps_come_in_their_order_with_what_was_planned(make: Make) -> None:
    times = again(read_run(make()))["times"]
    assert [t[0] for t in times] == ["check", "plan", "train", "search", "compare", "test", "export"]
    assert times[2][2].replace("\N{NO-BREAK SPACE}", " ") == "planned 2 min 10 s"
    assert times[2][3] == 100
