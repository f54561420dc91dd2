from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from supernetic.reports.sections.search import front, progress
from supernetic.runs.view import read_run

Make = Callable[..., Path]


def test_trials_are_counted_by_kind(make: Make) -> None:
    shown = front(read_run(make()))
    assert shown["trials"] == "384 architectures within the limits and 16 outside them."
    assert "trial" in [style for style, _, _ in shown["legend"]]


def test_progress_is_shown_once_there_is_some(make: Make) -> None:
    assert progress(read_run(make("early", until="train"))) == {}
    shown = progress(read_run(make("late")))
    assert [name for name, _ in shown["generations"]][1:] == [
        "hypervolume", "networks on the front", "share of skipped layers",
    ]  # fmt: skip
    assert shown["histogram_text"].endswith("the chosen ones are marked.")
