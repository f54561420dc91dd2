"""Where the numbers of `rank` come from: columns of a table, costs, files, supernets of runs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ... import catalog
from ...benchmarks import Column, Table
from ...benchmarks.own import read
from ...benchmarks.table import ABSENT, Ints
from ...costs import METRICS, costs_of
from ...errors import InputError, RunError, TableError, UnknownNameError
from ...jobs.train.score import Report, is_run
from ...jobs.train.score import score as evaluate
from ...objective import Metrics, resolve
from ...proxies import PROXIES
from ...runs.directory import SETTINGS
from ...space import Arch, Space
from .few_shot import ask_parts
from .proxies import is_proxy
from .subset_training import SUBSET_TRAINING, is_subset_training, parse_subset_training

COMBINE, PARTS = "+", ","
_FILE = re.compile(r"(.+\.(?:csv|npz))(?::([\w./ -]+))?")


def find_table(space: Space, table: str | Path | Table | None) -> Table:
    """The table given, or the one that is bundled with the space."""
    if isinstance(table, Table):
        return table
    if table is None and space.name not in catalog.TABLES:
        raise TableError(f"no table of {space.name} is bundled (there are {', '.join(catalog.TABLES)}): give a file")
    return catalog.table(table or space.name, space)


def split_scores(score: str) -> list[str]:
    """The scores that are joined; a file or run whose own name holds a `+` is one."""
    file = _FILE.fullmatch(score)
    if (file and Path(file[1]).is_file()) or find_runs(score):
        return [score]
    return [name.strip() for name in score.split(COMBINE)]


def find_runs(name: str) -> tuple[list[str], str] | None:
    """(directories, metric or nothing) of `RUN`, `RUN:METRIC`, or several runs between commas: a few-shot supernet."""
    path, _, metric = name.rpartition(":")
    for text, wanted in ((name, ""), (path, metric)):
        for runs in ([text], text.split(PARTS)):
            if all(run and is_run(run) for run in runs):  # no text is no run, wherever one stands
                return runs, wanted
    return None


def metric_of(text: str) -> str:
    """The metric of a run that is meant: by its full name or its last part; cross-entropy, if nothing is said."""
    from ...evaluators.angle import ANGLE
    from ...networks.scores import full_names

    known = (*full_names("valid"), ANGLE)
    return resolve(text, known) if text else known[0]


def column_of(table: Table, name: str) -> Column:
    """A score or truth for every row of the table, by name."""
    short = name.removeprefix("table/").removeprefix("cost/")
    if short in table.columns:
        return table[short]
    if short in METRICS:
        return Column(costs_of(table.space, table.archs, short).astype(np.float64), unit=short)
    if match := _FILE.fullmatch(name):
        return _from_file(table, *match.groups())
    found = find_runs(name)
    if found:
        metric_of(found[1])
    if is_subset_training(name):
        parse_subset_training(name)
    if found or is_proxy(name) or is_subset_training(name):
        return Column(np.zeros(len(table)))  # until it is known which rows are wanted
    if name and Path(name).is_dir():
        raise RunError(f"{name} is not a run: it holds no {SETTINGS}")
    raise UnknownNameError("score", name, [*table.columns, *METRICS, *PROXIES, SUBSET_TRAINING])


def _from_file(table: Table, path: str, column: str | None) -> Column:
    other = read(path, table.space)
    if column is None and len(other.columns) > 1:
        names = ", ".join(other.columns)
        raise InputError(f"{path} has several columns: say which as {path}:COLUMN, one of {names}")
    source = other[column or next(iter(other.columns))]
    rows = other.find(table.archs)
    values = np.where(rows == ABSENT, np.nan, source.values[rows])
    return dataclasses.replace(source, values=values)


def scored(
    table: Table, names: Sequence[str], rows: Ints, bn: str, progress: Report | None = None
) -> tuple[Table, list[str]]:
    """The table with what supernets say about some rows, more for better; and remarks."""
    remarks = []
    for i, name in enumerate(names, 1):
        if len(rows) and (found := find_runs(name)):
            runs, metric = found[0], metric_of(found[1])
            answers = _answers(runs, metric, table.take(rows), bn, progress)
            sign = -1 if metric.endswith("cross_entropy") else 1
            values = np.full(len(table), np.nan)
            values[rows] = [sign * a[metric] for a in answers]
            columns = {**table.columns, str(i): Column(values, split=_split(metric))}
            table = dataclasses.replace(table, columns=columns)
            remarks.append(f"{name} is {metric}" + (", less is better: its sign is turned" if sign < 0 else ""))
    return table, remarks


def _answers(runs: list[str], metric: str, table: Table, bn: str, progress: Report | None) -> list[Metrics]:
    """What the supernet of a run, or of each part of a few-shot one, says about all rows."""
    from ...evaluators.angle import ANGLE
    from .angles import angles

    def ask(run: str, archs: list[Arch]) -> list[Metrics]:
        if metric == ANGLE:
            return angles(run, table.space, archs)
        return evaluate(run, table.space, archs, bn=bn, progress=progress)

    archs = list(table)
    return ask(runs[0], archs) if len(runs) == 1 else ask_parts(runs, table.space, archs, ask)


def _split(metric: str) -> str:
    """The split of the data that a metric looked at."""
    split = metric.partition("/")[0]
    return "" if split == "vote" else split
