from __future__ import annotations

import numpy as np
import pytest

from supernetic.benchmarks import Column, Table, macro, nasbench201
from supernetic.benchmarks.table import ABSENT, group_mean
from supernetic.errors import InputError, TableError, UnknownNameError
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201
from supernetic.spaces.scarlet import ScarletS2


def small(archs: list[list[int]], values: list[float], **about: str) -> Table:
    return Table(Macro(), np.array(archs, dtype=np.int8), {"acc": Column(np.array(values), **about)})  # type: ignore[arg-type]


@pytest.mark.parametrize(("split", "is_test"), [("valid", False), ("test", True), ("valid+test", True), ("", False)])
def test_a_column_knows_whether_it_holds_test_data(split: str, is_test: bool) -> None:
    assert Column(np.zeros(1), split=split).is_test is is_test


def test_a_column_describes_itself() -> None:
    column = Column(np.zeros(1), "CIFAR-10", "valid", 200, "mean", "%")
    assert str(column) == "CIFAR-10, valid, 200 epochs, mean of seeds, %"
    assert str(Column(np.zeros(1), seed="777")) == "seed 777"


def test_lookup_finds_every_row_in_any_order() -> None:
    table = nasbench201.load()
    rows = np.random.default_rng(0).permutation(len(table))
    assert table.find(table.archs[rows]).tolist() == rows.tolist()
    assert table.lookup(table.archs[rows[:5]], "c10_valid_200").tolist() == (
        table["c10_valid_200"].values[rows[:5]].tolist()
    )


def test_lookup_in_a_space_too_large_for_an_integer_index() -> None:
    space = ScarletS2()
    archs = space.sample(np.random.default_rng(0), 500)
    archs[0] = 0
    archs = np.unique(archs, axis=0)
    table = Table(space, archs, {"x": Column(np.arange(float(len(archs))))})
    assert table.find(archs[::-1]).tolist() == list(range(len(archs)))[::-1]
    other = archs[3].copy()
    other[-1] = (other[-1] + 1) % 13
    assert table.find(other).tolist() == [ABSENT]


def test_absent_architectures() -> None:
    table = small([[0] * 8, [2] * 8], [1.0, 2.0])
    assert table.find(np.array([[1] * 8, [2] * 8], dtype=np.int8)).tolist() == [ABSENT, 1]
    assert (2,) * 8 in table
    assert (1,) * 8 not in table
    with pytest.raises(TableError, match="2 architectures, but not 11111111"):
        table.rows(np.array([[2] * 8, [1] * 8], dtype=np.int8))
    with pytest.raises(TableError, match="8 integers, got 3"):
        table.find(np.zeros((1, 3), dtype=np.int8))
    empty = Table(Macro(), np.zeros((0, 8), dtype=np.int8), {})
    assert empty.find(np.zeros((2, 8), dtype=np.int8)).tolist() == [ABSENT, ABSENT]


def test_other_encodings_of_a_network_are_found_by_its_canonical_form() -> None:
    table = small([[0, 0, 2, 1, 0, 0, 0, 0]], [5.0])
    assert table.lookup(np.array([[0, 0, 2, 0, 1, 0, 0, 0]], dtype=np.int8), "acc").tolist() == [5.0]


def test_unknown_column_gets_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'c10_valid_200'"):
        nasbench201.load()["c10_vaild_200"]


def test_malformed_tables_are_refused() -> None:
    with pytest.raises(TableError, match="once, got 00000000"):
        small([[0] * 8, [0] * 8], [1.0, 2.0])
    with pytest.raises(TableError, match="'acc' must have 1 values, got"):
        small([[0] * 8], [1.0, 2.0])
    with pytest.raises(TableError, match="8 genes"):
        small([[0] * 7], [1.0])


def test_tables_cannot_be_written() -> None:
    table = nasbench201.load()
    with pytest.raises(ValueError, match="read-only"):
        table["c10_valid_200"].values[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        table.archs[0, 0] = 0


@pytest.mark.parametrize(("without", "n"), [(("none",), 4096), (("none", "avg_pool_3x3"), 729)])
def test_masking_keeps_the_rows_without_the_operations(without: tuple[str, ...], n: int) -> None:
    full = nasbench201.load()
    table = full.restrict(without)
    assert table.space == NASBench201(without=without)
    assert len(table) == n == table.space.size
    for row in (0, n // 2, n - 1):
        arch = tuple(int(g) for g in table.archs[row])
        text = table.space.format(table.space.check(arch))
        same = np.array([full.space.parse(text)], dtype=np.int8)
        assert full.lookup(same, "c10_test_200") == table["c10_test_200"].values[row]


def test_masks_add_up_and_nothing_masked_changes_nothing() -> None:
    full = nasbench201.load()
    twice = full.restrict(["none"]).restrict(["avg_pool_3x3"])
    assert twice.archs.tolist() == full.restrict(["none", "avg_pool_3x3"]).archs.tolist()
    assert full.restrict([]) is full


def test_bad_masks() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'skip_connect'"):
        nasbench201.load().restrict(["skip_conect"])
    with pytest.raises(InputError, match="macro has no operations that can be masked"):
        macro.load().restrict(["Identity"])


def test_unique_averages_over_the_encodings_of_a_network() -> None:
    table = small([[0, 0, 2, 0, 1, 0, 0, 0], [0, 0, 2, 1, 0, 0, 0, 0], [1] * 8], [4.0, 6.0, 1.0])
    merged = table.unique()
    assert merged.archs.tolist() == [[0, 0, 2, 1, 0, 0, 0, 0], [1] * 8]
    assert merged["acc"].values.tolist() == [5.0, 1.0]
    assert merged.unique() is merged
    assert table.counts_networks
    assert not nasbench201.load().counts_networks


def test_group_mean_passes_over_missing_values_and_keeps_equal_ones() -> None:
    values = np.array([0.1, np.nan, 0.1, 0.1, np.nan, 2.0, 4.0])
    mean = group_mean(values, np.array([0, 0, 0, 0, 1, 2, 2]))
    assert mean[0] == 0.1
    assert np.isnan(mean[1])
    assert mean[2] == 3.0
