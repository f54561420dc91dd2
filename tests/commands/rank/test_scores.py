from __future__ import annotations

from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic.benchmarks import Table, nasbench201
from supernetic.commands.rank.scores import (
    EVENT_INTERVAL,
    Combined,
    CostColumn,
    FileColumn,
    GivenFunction,
    GivenNumbers,
    TableColumn,
    archs_of,
)
from supernetic.costs import costs_of
from supernetic.errors import ArchError, InputError, TableError, UnknownNameError
from supernetic.progress import Event
from supernetic.ranking.combine import combine_ranks
from supernetic.spaces.macro import Macro

ROWS = np.array([3, 99])


@pytest.fixture(scope="module")
def table() -> Table:
    return nasbench201.load()


@pytest.fixture(scope="module")
def small() -> Table:
    """Three networks of macro, in this order."""
    return Table(Macro(), np.array([[2, *[0] * 7], [0] * 8, [1, *[0] * 7]], np.int8), {})


def test_columns_of_the_table_keep_where_they_come_from(table: Table) -> None:
    asked = TableColumn("table/c10_valid_200", "c10_valid_200").ask(table, ROWS)
    assert asked.column.values.tolist() == table["c10_valid_200"].values[ROWS].tolist()
    assert (asked.column.dataset, asked.column.split, asked.column.epochs) == ("CIFAR-10", "valid", 200)
    assert asked.remarks == ()


def test_costs_are_taken_as_they_stand(table: Table) -> None:
    asked = CostColumn("cost/macs", "macs").ask(table, ROWS)
    assert asked.column.values.tolist() == costs_of(table.space, table.archs[ROWS]).tolist()
    assert str(asked.column) == "macs"


def test_a_file_gives_what_it_lists(small: Table, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("arch,a,b\n00000000,1,2\n20000000,3,4\n")
    values = FileColumn("mine", path, "b").ask(small, np.array([2, 1, 0])).column.values
    assert np.array_equal(values, [nan, 2, 4], equal_nan=True)
    with pytest.raises(InputError, match=r"mine\.csv has several columns: .* one of a, b"):
        FileColumn("mine", path).ask(small, ROWS)
    with pytest.raises(UnknownNameError, match="unknown column 'c'"):
        FileColumn("mine", path, "c").ask(small, ROWS)


# --- given by the caller ----------------------------------------------------------------------------------------------


def given(numbers: Any, table: Table, rows: list[int]) -> list[float]:
    values: list[float] = GivenNumbers(numbers, "mine").ask(table, np.array(rows)).column.values.tolist()
    return values


def test_given_numbers_are_aligned_with_the_rows(small: Table) -> None:
    for numbers in ([1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3], np.int8)):
        assert given(numbers, small, [2, 0]) == [3, 1]
    assert np.isnan(given([1, nan, 3], small, [1])).all()
    assert np.isnan(given([1, None, 3], small, [1])).all()


def test_given_numbers_by_architecture(small: Table) -> None:
    two, zero = (2, *[0] * 7), (0,) * 8
    assert given({zero: 1.0, two: 2.0}, small, [0, 1]) == [2, 1]
    assert given({"00000000": 1, "20000000": 2}, small, [0, 1]) == [2, 1]
    assert np.isnan(given({zero: 1.0}, small, [0, 2])).all()
    assert np.isnan(given({}, small, [0, 1, 2])).all()
    assert given({tuple(np.array(two)): 5}, small, [0]) == [5]


@pytest.mark.parametrize(
    ("numbers", "error", "why"),
    [
        ([1, 2], InputError, "mine must have a number for each of the 3 rows of macro, got 2$"),
        (np.zeros((3, 2)), InputError, "for each of the 3 rows of macro, got 3 x 2$"),
        (5.0, InputError, "for each of the 3 rows of macro, got one$"),
        (["a", "b", "c"], InputError, "mine must be numbers: "),
        ({(0,) * 8: "much"}, InputError, "mine must be numbers: "),
        ({(0,) * 7: 1.0}, ArchError, "an architecture of macro has 8 integers, got 7"),
        ({(3, *[0] * 7): 1.0}, ArchError, "choice layer0 must lie in 0..2, got 3"),
        ({7: 1.0}, ArchError, "is a tuple of integers or a text, got 7"),
        ({(None,) * 8: 1.0}, ArchError, "is a tuple of integers or a text, got "),
        ({(1, 1, *[0] * 6): 1.0}, TableError, "holds 3 architectures, but not 11000000"),
        ({(0,) * 8: 1.0, "00000000": 2.0}, TableError, "hold each architecture once, got 00000000"),
    ],
)
def test_bad_numbers_are_named_in_one_line(numbers: Any, error: type[InputError], why: str, small: Table) -> None:
    with pytest.raises(error, match=why) as caught:
        given(numbers, small, [0])
    assert "\n" not in str(caught.value)


def test_a_given_function_is_called_for_the_rows_alone(small: Table) -> None:
    calls: list[tuple[int, ...]] = []

    def first(arch: tuple[int, ...]) -> float:
        calls.append(arch)
        return arch[0]

    assert GivenFunction(first, "first").ask(small, np.array([2, 0])).column.values.tolist() == [1, 2]
    assert calls == [(1, *[0] * 7), (2, *[0] * 7)]
    assert all(type(gene) is int for gene in calls[0])


def test_a_given_function_reads_the_callers_encoding_where_operations_are_masked(table: Table) -> None:
    masked = table.restrict(["none"])
    rows = np.arange(0, len(masked), 50)
    score = GivenFunction(
        lambda arch: float(table.lookup(np.array([arch], np.int8), "c10_valid_12")[0]), "f", table.space
    )
    assert score.ask(masked, rows).column.values.tolist() == masked["c10_valid_12"].values[rows].tolist()


def test_a_given_function_says_how_far_it_is(table: Table) -> None:
    events: list[Event] = []
    GivenFunction(lambda arch: 1.0, "f").ask(table, np.arange(EVENT_INTERVAL + 1), events.append)
    n = EVENT_INTERVAL + 1
    assert events == [Event("score", item="f", done=done, total=n) for done in (EVENT_INTERVAL, n)]


def test_a_function_that_gives_no_number_is_named(small: Table) -> None:
    with pytest.raises(InputError, match=r"f must give a number for \(2, 0.*\), got None"):
        GivenFunction(lambda arch: None, "f").ask(small, np.array([0]))  # type: ignore[arg-type, return-value]
    assert GivenFunction(lambda arch: inf, "f").ask(small, np.array([0])).column.values.tolist() == [inf]


# --- several ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["mean-rank", "log-rank", "az-rank"])
def test_ranks_are_combined_among_the_rows_at_hand(table: Table, how: str) -> None:
    parts = (TableColumn("c10_valid_12", "c10_valid_12"), TableColumn("c10_valid_200", "c10_valid_200"))
    both = Combined("both", parts, how)
    assert both.parts == parts
    for rows in (np.arange(100), np.arange(50, 70)):
        expected = combine_ranks([table[p.name].values[rows] for p in parts], how=how)
        assert both.values(table, rows).tolist() == expected.tolist()
        assert both.ask(table, rows).column.values.tolist() == expected.tolist()


def test_architectures_from_tuples_and_text() -> None:
    assert archs_of(Macro(), [(0,) * 8, "10000000"]).tolist() == [[0] * 8, [1, *[0] * 7]]
    assert archs_of(Macro(), []).shape == (0, 8)
