from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from supernetic.benchmarks import Column, Table
from supernetic.benchmarks.nasbench101 import load, trainings
from supernetic.benchmarks.own import read, write
from supernetic.errors import InputError, TableError
from supernetic.space import Arch
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench101 import NASBench101, NASBench101Chain

SPACE = NASBench101()


def checksum(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(number: int) -> bytes:
    head = b""
    while number > 127:
        head, number = head + bytes([number & 127 | 128]), number >> 7
    return head + bytes([number])


def evaluation(epoch: float, seconds: float, train: float, valid: float, test: float) -> bytes:
    """EvaluationData: five doubles and, as in the files, perhaps a path."""
    doubles = b"".join(
        bytes([field << 3 | 1]) + struct.pack("<d", value)
        for field, value in enumerate((epoch, seconds, train, valid, test), 1)
    )
    return doubles + bytes([6 << 3 | 2, 3]) + b"a/b"


def metrics(*evaluations: bytes, params: int = 2_694_282) -> str:
    """ModelMetrics: the evaluations, the parameters, and the total time, which the reader has no use for."""
    message = b"".join(bytes([1 << 3 | 2]) + varint(len(e)) + e for e in evaluations)
    message += bytes([2 << 3]) + varint(params) + bytes([3 << 3 | 1]) + struct.pack("<d", 99.5)
    return base64.b64encode(message).decode()


def record(arch: Arch, epochs: int, valid: float, test: float) -> bytes:
    matrix, ops = SPACE.decode(arch)
    looks = (evaluation(0, 0, 0.1, 0.1, 0.1), evaluation(epochs / 2, 50, 0.5, 0.5, 0.5))
    final = evaluation(epochs, 100.25, 1.0, valid, test)
    bits = "".join(str(b) for row in matrix for b in row)
    return json.dumps([SPACE.hash_of(arch), epochs, bits, ",".join(ops), metrics(*looks, final)]).encode()


def save(path: Path, records: list[bytes]) -> Path:
    frames = []
    for data in records:
        length = struct.pack("<Q", len(data))
        frames.append(length + checksum(length) + data + checksum(data))
    path.write_bytes(b"".join(frames))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The space's named cells and two chains: three repeats at 108 epochs, the first cell once at 4 epochs too."""
    chain = NASBench101Chain()
    cells = [*SPACE.named.values(), *(chain.to_cell(a) for a in ((0, 2, 2, 2, 2), (0, 1, 2, 2, 2)))]
    records = []
    for i, arch in enumerate(cells):
        records += [record(arch, 108, 0.90 + i / 1000 + r / 10000, 0.80 + i / 1000) for r in range(3)]
    return save(tmp_path / "nasbench_only108.tfrecord", [*records, record(cells[0], 4, 0.5, 0.4)])


def test_trainings_are_read_at_their_end(file: Path) -> None:
    first = next(trainings(file))
    assert (first.epochs, first.seconds, first.train) == (108, 100.25, 100.0)
    assert [first.valid, first.test] == pytest.approx([90.0, 80.0])
    assert first.operations[0] == "input"
    assert first.cell == SPACE.hash_of(next(iter(SPACE.named.values())))


def test_table(file: Path) -> None:
    table = load(file)
    assert len(table) == len(SPACE.named) + 2
    archs = np.array(list(SPACE.named.values()), dtype=np.int8)
    assert table.lookup(archs, "valid_108") == pytest.approx(90.01 + np.arange(len(archs)) / 10)
    assert table.lookup(archs, "valid_108_s2") == pytest.approx(90.02 + np.arange(len(archs)) / 10)
    assert table.lookup(archs, "test_108") == pytest.approx(80 + np.arange(len(archs)) / 10)
    assert table["train_time_s_108"].unit == "s"
    assert np.isfinite(table["valid_4"].values).tolist() == [True] + [False] * (len(table) - 1)


def test_splits_are_kept_apart(file: Path) -> None:
    table = load(file)
    about = table["valid_108"]
    assert (about.dataset, about.split, about.epochs, about.seed, about.unit) == ("CIFAR-10", "valid", 108, "mean", "%")
    assert [n for n, c in table.columns.items() if c.is_test] == [
        "test_108", "test_108_s0", "test_108_s1", "test_108_s2", "test_4", "test_4_s0",
    ]  # fmt: skip


def test_any_encoding_of_a_cell_is_found(file: Path, tmp_path: Path) -> None:
    table = load(file)
    chain = SPACE.encode([[0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]], ["maxpool3x3", "conv1x1-bn-relu"])
    assert table.find(np.array([chain], dtype=np.int8)).tolist() == [len(SPACE.named)]
    # a file that lists a cell in another order of its vertices
    arch = next(iter(SPACE.named.values()))
    parallel = [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    orders = [
        SPACE.encode(parallel, ops) for ops in (["maxpool3x3", "conv1x1-bn-relu"], ["conv1x1-bn-relu", "maxpool3x3"])
    ]
    for order in orders:
        other = load(save(tmp_path / "o.tfrecord", [record(order, 108, 0.9, 0.8), record(arch, 108, 0.7, 0.6)]))
        assert other.find(np.array(orders, dtype=np.int8)).tolist() == [0, 0]


def test_encodings_of_one_cell_are_merged() -> None:
    parallel = [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    names = ["maxpool3x3", "conv1x1-bn-relu"]
    archs = [SPACE.encode(parallel, names), SPACE.named["inception"], SPACE.encode(parallel, names[::-1])]
    table = Table(SPACE, np.array(archs, dtype=np.int8), {"acc": Column(np.array([1.0, 2.0, 3.0]))})
    merged = table.unique()
    assert table.networks().tolist() == [0, 1, 0]
    assert merged["acc"].values.tolist() == [2.0, 2.0]
    assert merged.find(table.archs).tolist() == [0, 1, 0]


def test_chains_are_looked_up_as_cells(file: Path) -> None:
    space = NASBench101Chain()
    table = load(file, space)
    assert len(table) == 5 + 10  # encodings of a single 1x1, and of 1x1 then 3x3
    assert len(table.unique()) == 2
    single = np.array([[2, 2, 0, 2, 2]], dtype=np.int8)
    assert table.lookup(single, "valid_108") == pytest.approx(90.01 + len(SPACE.named) / 10)


def test_smaller_cells_only(file: Path) -> None:
    small = load(file, NASBench101(vertices=6))
    assert 0 < len(small) < len(load(file))


def test_other_spaces_are_refused(file: Path) -> None:
    with pytest.raises(InputError, match="nasbench101-chain, got macro"):
        load(file, Macro())


def test_table_survives_as_npz(file: Path, tmp_path: Path) -> None:
    table = load(file)
    write(table, tmp_path / "t.npz")
    again = read(tmp_path / "t.npz", SPACE)
    assert (again.archs == table.archs).all()
    assert {n: str(c) for n, c in again.columns.items()} == {n: str(c) for n, c in table.columns.items()}
    np.testing.assert_array_equal(again["valid_4"].values, table["valid_4"].values)


GOOD = metrics(evaluation(108, 1, 1, 0.9, 0.8))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"not json", "record 1 is malformed"),
        (b'["hash", 108]', "record 1 is malformed"),
        (json.dumps(["h", 108, "0100", "input,output", "!!"]).encode(), "record 1 is malformed"),
        (json.dumps(["h", 108, "0100", "input,output", GOOD[:-8]]).encode(), "record 1 is malformed"),
        (json.dumps(["h", 108, "0100", "input,output", metrics()]).encode(), "record 1 is malformed"),
        (json.dumps(["h", 108, "01x0", "input,output", GOOD]).encode(), "record 1 is not a cell"),
        (json.dumps(["h", 108, "0000", "input,output", GOOD]).encode(), "record 1 is not a cell"),
        (json.dumps(["h", 108, "010001000", "input,conv5x5,output", GOOD]).encode(), "unknown operation 'conv5x5'"),
    ],
)
def test_malformed_records_are_named(tmp_path: Path, data: bytes, why: str) -> None:
    arch = next(iter(SPACE.named.values()))
    path = save(tmp_path / "bad.tfrecord", [record(arch, 108, 0.9, 0.8), data])
    with pytest.raises(TableError, match=rf"bad\.tfrecord: .*{why}"):
        load(path)
