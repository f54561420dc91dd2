"""Scores of `rank`: what a score is, and those whose numbers are there already or are given by the caller.

Scores by trained supernets are in `run_score`, those that make networks of their own in `network_scores`. Text becomes
a score in `parsing`.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...benchmarks import Column, Table
from ...benchmarks.own import read
from ...benchmarks.table import ABSENT, Floats, Ints
from ...costs import costs_of
from ...errors import ArchError, InputError
from ...jobs.train.score import translated
from ...progress import Event, OnEvent, ignore
from ...ranking.combine import MEAN_RANK, combine_ranks
from ...space import Arch, Archs, Space

EVENT_INTERVAL = 500  # calls of a function between two events

Numbers: TypeAlias = npt.ArrayLike | Mapping[Arch, float] | Mapping[str, float]


class SampleSize(NamedTuple):
    """How many networks are scored: at random (0: all), and of the true top 10 % besides."""

    random: int
    top: int


ALL = SampleSize(0, 0)


class Answers(NamedTuple):
    """What a score says of some rows: one number for each, and remarks for people."""

    column: Column
    remarks: Sequence[str] = ()


class Score(ABC):
    """Something that says one number of an architecture; more is better.

    A score is asked once (`ask`). The answers become a column of its name in a table, from which `values` reads.

    Attributes:
        name: What the score is called in results; no two scores of a ranking share a name.
        is_measured: Whether every number takes time. Then only the networks that are drawn are scored.
        can_be_truth: Whether other scores may be compared with it.
        usual_sample: How many networks are scored unless the caller says so.
    """

    name: str
    is_measured: ClassVar[bool] = False
    can_be_truth: ClassVar[bool] = True
    usual_sample: ClassVar[SampleSize] = ALL

    @property
    def parts(self) -> tuple[Score, ...]:
        """The scores that it is combined of; itself, if it is a single one."""
        return (self,)

    @abstractmethod
    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        """Find the numbers of some architectures.

        Args:
            table: Architectures and their space.
            rows: The rows of the table to score.
            on_event: Hears how far it is, where that takes time.

        Returns:
            A number per row, NaN where there is none, and remarks.
        """

    def values(self, table: Table, rows: Ints) -> Floats:
        """The numbers of some rows, from a table that has them as a column of this score's name."""
        return table[self.name].values[rows]


# --- numbers that are there -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableColumn(Score):
    """A column of the table itself.

    Args:
        name: As the caller wrote it.
        column: The column's name.
    """

    name: str
    column: str

    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        """The column's values."""
        return Answers(table[self.column].take(rows))


@dataclass(frozen=True)
class CostColumn(Score):
    """A cost as it stands, such as MACs: more counts as better.

    Args:
        name: As the caller wrote it.
        metric: One of `costs.METRICS`.
    """

    name: str
    metric: str

    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        """The costs of the architectures."""
        costs = costs_of(table.space, table.archs[rows], self.metric)
        return Answers(Column(costs.astype(np.float64), unit=self.metric))


@dataclass(frozen=True)
class FileColumn(Score):
    """A column of a user's file; architectures that the file does not list have no number.

    Args:
        name: As the caller wrote it.
        path: A CSV or npz file.
        column: The column's name; may be empty if there is one only.
    """

    name: str
    path: str | Path
    column: str = ""

    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        """What the file says of the architectures, under any of their encodings."""
        file = read(self.path, table.space)
        if not self.column and len(file.columns) > 1:
            names = ", ".join(file.columns)
            raise InputError(f"{self.path} has several columns: say which as {self.path}:COLUMN, one of {names}")
        source = file[self.column or next(iter(file.columns))]
        return Answers(dataclasses.replace(source, values=_looked_up(file, source.values, table.archs[rows])))


# --- numbers that the caller gives ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GivenNumbers(Score):
    """The caller's own numbers.

    Args:
        numbers: One per row of the table, or by architecture (a tuple of integers, or its notation). NaN, and an
            architecture that is not listed, mean that there is no number.
        name: What to call them in the result.
    """

    numbers: Numbers
    name: str = "given numbers"

    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        """The numbers of the architectures; `table` is the one that they are aligned with."""
        if isinstance(self.numbers, Mapping):
            return Answers(Column(self._by_arch(table, rows, self.numbers)))
        numbers = self._floats(self.numbers)
        if numbers.shape != (len(table),):
            count = " x ".join(map(str, numbers.shape)) or "one"
            raise InputError(
                f"{self.name} must have a number for each of the {len(table)} rows of {table.space.name}, got {count}"
            )
        return Answers(Column(numbers[rows]))

    def _by_arch(self, table: Table, rows: Ints, numbers: Mapping[Any, float]) -> Floats:
        archs = archs_of(table.space, numbers)
        table.rows(archs)  # names the first that the table does not hold
        values = self._floats(list(numbers.values()))
        return _looked_up(Table(table.space, archs, {}), values, table.archs[rows])

    def _floats(self, numbers: npt.ArrayLike) -> Floats:
        try:
            return np.asarray(numbers, np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.name} must be numbers: {error}") from None


@dataclass(frozen=True)
class GivenFunction(Score):
    """The caller's own function of an architecture.

    Args:
        function: Takes a tuple of integers and gives a number; NaN means that there is none.
        name: What to call it in the result.
        space: The space whose encoding the function reads; that of the table, unless given.
    """

    function: Callable[[Arch], float]
    name: str = "given function"
    space: Space | None = None
    is_measured: ClassVar[bool] = True

    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        """Call the function for each architecture."""
        archs = translated(list(table.take(rows)), table.space, self.space or table.space, self.name)
        values = np.empty(len(archs))
        for i, arch in enumerate(archs):
            values[i] = self._call(arch)
            if not (i + 1) % EVENT_INTERVAL or i + 1 == len(archs):
                on_event(Event("score", item=self.name, done=i + 1, total=len(archs)))
        return Answers(Column(values))

    def _call(self, arch: Arch) -> float:
        number = self.function(arch)
        try:
            return float(number)
        except (TypeError, ValueError):
            raise InputError(f"{self.name} must give a number for {arch}, got {number!r}") from None


# --- several scores ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Combined(Score):
    """Several scores, combined by the ranks that each gives.

    Args:
        name: What to call it in the result.
        scores: Single scores.
        how: How ranks are combined (`ranking.combine`).
    """

    name: str
    scores: tuple[Score, ...]
    how: str = MEAN_RANK
    can_be_truth: ClassVar[bool] = False

    @property
    def parts(self) -> tuple[Score, ...]:
        """The single scores."""
        return self.scores

    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        """Ask all of them, and combine their ranks among these rows."""
        answers = [score.ask(table, rows, on_event) for score in self.scores]
        values = combine_ranks([a.column.values for a in answers], how=self.how)
        return Answers(Column(values), [remark for a in answers for remark in a.remarks])

    def values(self, table: Table, rows: Ints) -> Floats:
        """The combined ranks among these rows, from a table that has the parts as columns."""
        return combine_ranks([score.values(table, rows) for score in self.scores], how=self.how)


# --- architectures ----------------------------------------------------------------------------------------------------


def archs_of(space: Space, given: Iterable[Iterable[int] | str]) -> Archs:
    """Architectures as rows, from tuples of integers or from text."""
    return np.array([_arch(space, a) for a in given], np.int8).reshape(-1, len(space.choices))


def _arch(space: Space, given: Iterable[int] | str) -> Arch:
    try:
        return space.parse(given) if isinstance(given, str) else space.check(given)
    except (TypeError, ValueError):
        raise ArchError(f"an architecture of {space.name} is a tuple of integers or a text, got {given!r}") from None


def _looked_up(table: Table, values: Floats, archs: Archs) -> Floats:
    """The values of architectures, given one per row of a table; NaN for those that it does not hold."""
    if not len(table):
        return np.full(len(archs), np.nan)
    rows = table.find(archs)
    return np.where(rows == ABSENT, np.nan, values[rows])
