"""The page over all runs of a folder: one line each, which can be sorted and leads to the run's report.

It is a file like any other, `index.html` in the folder. While a run goes on, its job renews it, and the page in the
browser loads itself again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import InputError, RunError
from ..objective import show_quantity
from ..ranking.trust import wilson
from ..runs.directory import read_modest_file
from ..runs.files import INDEX, REPORT
from ..runs.overview import (
    FINISHED,
    INTERRUPTED,
    MOST_RUNS,
    RUNNING,
    UNREADABLE,
    BestModel,
    RunLine,
    runs_of,
)
from .rendering import fill, write_page
from .summary_text import SPACE, UNKNOWN, duration, listed, percent, show_limit

MARK = "supernetic: the runs of a folder"  # in the head of the page: a file without it is someone else's
HEAD_BYTES = 4096  # in which the mark is found
MOST_PAGE_BYTES = 64 << 20
REFRESH_S = 20  # between two loadings of the page while something runs
LONGEST_S = 1e9  # of a run: longer than that is no time
LONGEST_TEXT = 200  # characters of a cell


@dataclass(frozen=True)
class Cell:
    """A text and what it is sorted by."""

    text: str
    sort: float | str = ""
    small: str = ""


def write_index(folder: str | Path) -> Path:
    """Write `index.html` into a folder of runs, from their files alone.

    Args:
        folder: The folder. An `index.html` there that is not ours is refused, not replaced.

    Returns:
        The page.
    """
    path = Path(folder)
    file = path / INDEX
    if os.path.lexists(file) and not is_index(file):
        raise InputError(f"{file} was not written by supernetic, and is not replaced: move it away first")
    write_page(file, fill("runs.html.j2", page(path.resolve().name, list(runs_of(path)))))
    return file


def renew_index(folder: Path) -> None:
    """Write the page over the runs of a folder again, if there is one; a job must not end because of it."""
    with suppress(Exception):
        if is_index(folder / INDEX):
            write_index(folder)


def is_index(file: Path) -> bool:
    """Whether a file is such a page."""
    try:
        text = read_modest_file(file, MOST_PAGE_BYTES)
    except RunError:
        return False
    return text is not None and MARK.encode() in text[:HEAD_BYTES]


def page(folder: str, lines: Sequence[RunLine], now: datetime | None = None) -> dict[str, Any]:
    """All that the template shows."""
    states = Counter(line.state for line in lines)
    data = {(line.data, line.fingerprint) for line in lines if line.model}
    at = (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M:%S UTC")
    return {
        "title": f"Runs in {clean(folder)}",
        "place": clean(folder),
        "mark": MARK,
        "status": listed([f"{states[s]:,} {s}" for s in (RUNNING, FINISHED, INTERRUPTED, UNREADABLE) if states[s]]),
        "at": at,
        "refresh": REFRESH_S if states[RUNNING] else 0,
        "different_data": len(data) > 1,
        "full": len(lines) >= MOST_RUNS,
        "head": ["test", "MACs", "model", "data", "limits", "time spent", "begun"],
        "rows": [_safe_row(line) for line in lines],
    }


def _safe_row(line: RunLine) -> dict[str, Any]:
    """A row whatever the numbers of a run are: a count of a thousand digits must not hide the other runs."""
    try:
        return _row(line)
    except (ArithmeticError, ValueError) as error:
        return _row(RunLine(line.name, UNREADABLE, f"damaged: {type(error).__name__}", began=line.began))


def _row(line: RunLine) -> dict[str, Any]:
    model = line.model
    return {
        "name": clean(line.name),
        "link": f"./{quote(os.fsencode(line.name))}/{REPORT}" if line.report else "",
        "state": line.state,
        "style": line.state.replace(" ", "-"),
        "what": clean(line.problem or " of ".join(filter(None, (line.job, line.space)))),
        "cells": [
            _accuracy(model),
            Cell(show_quantity(model.macs), model.macs) if model and model.macs is not None else Cell(UNKNOWN),
            Cell(clean(model.name), clean(model.name)) if model else Cell(UNKNOWN),
            Cell(clean(line.data) or UNKNOWN),
            _budget(line),
            Cell(duration(line.seconds), line.seconds) if 0 < line.seconds < LONGEST_S else Cell(UNKNOWN),
            _date(line.began),
        ],
    }


def _accuracy(model: BestModel | None) -> Cell:
    """On test images with their interval; else on validation images, which is said."""
    if model is None or model.accuracy is None or not 0 <= model.accuracy <= 100:
        return Cell(UNKNOWN)
    if not model.tested:
        return Cell(percent(model.accuracy), model.accuracy, "validation")
    low, high = wilson(model.accuracy / 100, model.images) if model.images else (None, None)
    bounds = "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"
    return Cell(percent(model.accuracy), model.accuracy, bounds)


def _budget(line: RunLine) -> Cell:
    time = [f"{line.minutes:g}{SPACE}min"] if line.minutes is not None else []
    text = ", ".join([*(show_limit(clean(w)) for w in line.limits), *time])
    return Cell(text or UNKNOWN)


def _date(began: float | None) -> Cell:
    try:
        return Cell(f"{datetime.fromtimestamp(began, UTC):%Y-%m-%d %H:%M}", began) if began else Cell(UNKNOWN)
    except (ValueError, OverflowError, OSError):  # a date that no calendar has
        return Cell(UNKNOWN)


def clean(text: str) -> str:
    """A text from anywhere in one line that can be read: nothing invisible, nothing endless."""
    known = text.encode("utf-8", "replace").decode("utf-8")
    seen = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in known[: LONGEST_TEXT + 1])
    return seen if len(seen) <= LONGEST_TEXT else seen[:LONGEST_TEXT] + "\N{HORIZONTAL ELLIPSIS}"
