"""Votes of untrained networks as scores for `rank`; nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...benchmarks import Column, Table
from ...benchmarks.table import Floats, Ints
from ...evaluators.evaluator import Evaluator
from ...jobs.train.score import Report
from ...objective import Metrics
from ...proxies import PROXIES, full_name
from ...space import Arch

CHUNK = 20  # architectures between two reports


def is_proxy(name: str) -> bool:
    """Whether there is such a voter."""
    return name.removeprefix("vote/") in PROXIES


def scored_by_proxies(
    table: Table, rows: Ints, asked: Mapping[str, str], data: str | Path, seed: int, progress: Report | None = None
) -> tuple[Table, list[str]]:
    """The table with what voters say of some rows, and remarks. `asked` has the name of the vote by column.

    Images are turned to the side and channels of the space. A network that gets no number is ranked last.
    """
    found = _ask(table.take(rows), tuple(asked.values()), data, seed, progress) if len(rows) else []
    columns, remarks = dict(table.columns), []
    for column, name in asked.items():
        values, more = missing_last(len(table), rows, [answer[full_name(name)] for answer in found], name)
        columns[column] = Column(values)
        remarks += more
    return replace(table, columns=columns), remarks


def missing_last(n: int, rows: Ints, found: Sequence[float], name: str) -> tuple[Floats, list[str]]:
    """A score of some of `n` rows, more for better; NaN among those found becomes the least of all, and a remark."""
    values = np.full(n, np.nan)
    values[rows] = found
    missing = rows[np.isnan(values[rows])]
    if not len(missing):
        return values, []
    values[missing] = np.nextafter(np.nanmin(values), -np.inf) if len(missing) < len(rows) else 0.0
    return values, [f"{len(missing)} of {len(rows)} networks get no number from {name} and are ranked last"]


def in_chunks(evaluate: Evaluator, archs: Sequence[Arch], size: int, progress: Report | None) -> list[Metrics]:
    """All answers of an evaluator that is asked for a few networks at a time, so that progress can be told."""
    found: list[Metrics] = []
    for start in range(0, len(archs), size):
        found += evaluate(archs[start : start + size])
        if progress:
            progress(len(found), len(archs))
    return found


def _ask(table: Table, names: tuple[str, ...], data: str | Path, seed: int, progress: Report | None) -> list[Metrics]:
    from ...datasets import load
    from ...evaluators.proxies import ProxyEvaluator

    archs = list(table)
    first = table.space.blueprint(archs[0])
    dataset = load(data, resolution=first.resolution, gray=first.in_channels == 1, seed=seed)
    evaluate = ProxyEvaluator(table.space, dataset, names, seed=seed)
    return in_chunks(evaluate, archs, CHUNK, progress)
