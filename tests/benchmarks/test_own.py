from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supernetic.benchmarks import nasbench201
from supernetic.benchmarks.own import read, write
from supernetic.errors import TableError
from supernetic.spaces.attentive import Attentive
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201

CELL = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|none~1|avg_pool_3x3~2|"


def csv(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    return path


def test_csv_with_any_notation(tmp_path: Path) -> None:
    path = csv(tmp_path, f'arch,acc,note\n{CELL},90.5,good\n"0,0,0,0,0,0",10,bad\nall-conv3x3,92,\n')
    table = read(path, NASBench201())
    assert table.archs.tolist() == [[3, 3, 3, 1, 0, 4], [0] * 6, [3] * 6]
    assert table["acc"].values.tolist() == [90.5, 10, 92]
    assert list(table.columns) == ["acc"]


def test_csv_with_a_column_per_gene(tmp_path: Path) -> None:
    names = "op_0_1,op_0_2,op_1_2,op_0_3,op_1_3,op_2_3"
    table = read(csv(tmp_path, f"{names},acc\n1,2,3,4,0,1,9\n0,0,0,0,0,nor_conv_3x3,8\n"), NASBench201())
    assert table.archs.tolist() == [[1, 2, 3, 4, 0, 1], [0, 0, 0, 0, 0, 3]]
    names = ",".join(c.name for c in Macro().choices)
    assert read(csv(tmp_path, f"acc,{names}\n7,1,2,0,1,2,0,1,2\n"), Macro()).archs.tolist() == [
        [1, 2, 0, 1, 2, 0, 1, 2]
    ]


def test_missing_values_are_nan(tmp_path: Path) -> None:
    table = read(csv(tmp_path, "arch,a,b\n00000000,,1\n00000001,NA,nan\n00000002,3,2\n"), Macro())
    assert np.isnan(table["a"].values).tolist() == [True, True, False]
    assert np.isnan(table["b"].values).tolist() == [False, True, False]


def test_test_columns_are_known_by_their_name(tmp_path: Path) -> None:
    table = read(csv(tmp_path, "arch,test_acc,valid_acc,ms\n00000000,1,2,3\n"), Macro())
    assert [c.is_test for c in table.columns.values()] == [True, False, False]
    assert table["valid_acc"].split == "valid"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "a line of names and at least one row, got 0 lines"),
        ("arch,acc\n", "at least one row, got 1 lines"),
        ("arch,acc\n00000000,1\n00000001\n", "row 2 of .*mine.csv must have 2 cells, got 1"),
        ("arch,acc\n00000000,1\n00000001,2,3\n", "must have 2 cells, got 3"),
        ("arch,acc\n00000000,1\n0000000x,2\n", "row 2 of .* is not an architecture: macro: .* got '0000000x'"),
        ("arch,acc\n00000005,1\n", "row 1 of .*layer7 must lie in 0..2, got 5"),
        ("arch,acc\n00000000,1\n00000001,high\n", "'acc' of .* must hold numbers, got 'high' in row 2"),
        ("arch,acc\n00000000,inf\n", "'acc' of .* must hold finite numbers, got inf in row 1"),
        ("arch,acc\n00000000,1\n00000000,2\n", "each architecture once, got 00000000"),
        ("arch,note\n00000000,x\n", "must have a column of numbers"),
        ("arch,acc,acc\n00000000,1,2\n", "each column once, got 'acc' twice"),
        ("network,acc\n00000000,1\n", "must have a column 'arch', or one for each of the 8 choices of macro"),
        ('arch,acc\n"00000000,1\n', "not readable CSV"),
    ],
)
def test_bad_csv_is_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(TableError, match=why) as caught:
        read(csv(tmp_path, text), Macro())
    assert "mine.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_genes_are_named(tmp_path: Path) -> None:
    header = "op_0_1,op_0_2,op_1_2,op_0_3,op_1_3,op_2_3,acc\n"
    with pytest.raises(TableError, match="unknown option of 0->1 'skip': did you mean 'skip_connect'"):
        read(csv(tmp_path, header + "skip,0,0,0,0,0,1\n"), NASBench201())
    with pytest.raises(TableError, match=r"row 1 .*2->3 must lie in 0..4, got 7"):
        read(csv(tmp_path, header + "0,0,0,0,0,7,1\n"), NASBench201())


def test_files_that_are_not_tables(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"missing\.csv does not exist"):
        read(tmp_path / "missing.csv", Macro())
    with pytest.raises(TableError, match=r"ending in \.csv, \.npz, \.tfrecord, got '.*t\.xlsx'"):
        read(tmp_path / "t.xlsx", Macro())
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(TableError, match="not readable CSV"):
        read(tmp_path / "binary.csv", Macro())


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, arch=np.array(["00000000", "22212202"]), acc=np.array([1, 2]), more=np.eye(2))
    assert read(path, Macro()).archs.tolist() == [[0] * 8, [2, 2, 2, 1, 2, 2, 0, 2]]
    space = Attentive()
    archs = space.sample(np.random.default_rng(0), 20)
    np.savez(path, archs=archs, acc=np.arange(20.0))
    table = read(path, space)
    assert (table.archs == archs).all()
    assert list(table.columns) == ["acc"]


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"archs": np.zeros((2, 8), dtype=int), "acc": np.zeros(3)}, "'acc' of .* must have 2 values, got 3"),
        ({"archs": np.zeros((1, 8)), "acc": np.zeros(1)}, "rows of integers, got shape .* of float64"),
        ({"archs": np.zeros((1, 7), dtype=int), "acc": np.zeros(1)}, "8 integers, got 7"),
        ({"archs": np.full((1, 8), 3), "acc": np.zeros(1)}, "layer0 must lie in 0..2, got 3"),
        ({"archs": np.full((1, 8), 300), "acc": np.zeros(1)}, "layer0 must lie in 0..2, got 300"),
        ({"archs": np.zeros((1, 8), dtype=int), "acc": np.array([np.inf])}, "finite numbers, got infinity"),
        ({"acc": np.zeros(1)}, "must have a column 'arch'"),
    ],
)
def test_bad_npz_is_named(tmp_path: Path, arrays: dict[str, np.ndarray], why: str) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    with pytest.raises(TableError, match=why):
        read(path, Macro())


def test_a_written_table_keeps_what_is_known_of_its_columns(tmp_path: Path) -> None:
    table = nasbench201.load().restrict(["none", "avg_pool_3x3"])
    write(table, tmp_path / "t.npz")
    again = read(tmp_path / "t.npz", table.space)
    assert (again.archs == table.archs).all()
    for name, column in table.columns.items():
        assert str(again[name]) == str(column)
        assert again[name].is_test == column.is_test
        np.testing.assert_array_equal(again[name].values, column.values)
    assert [p.name for p in tmp_path.iterdir()] == ["t.npz"]


def test_writing_to_nowhere(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot be written: No such file"):
        write(nasbench201.load(), tmp_path / "no" / "t.npz")
