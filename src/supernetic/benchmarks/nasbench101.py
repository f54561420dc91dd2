"""NAS-Bench-101: the official record files (`nasbench_only108.tfrecord`, `nasbench_full.tfrecord`), without TensorFlow.

Paper: Ying et al., "NAS-Bench-101", arXiv 1902.09635. The files are Apache-2.0 and too large to bundle.

Each record is a JSON list [hash, epochs, matrix, operations, metrics]: the matrix as a string of 0 and 1, the
operations separated by commas, the metrics as a protocol buffer in base64.
"""

from __future__ import annotations

import base64
import json
import struct
from array import array
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import isqrt, nan
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError, TableError, UnknownNameError
from ..space import Arch, Space
from ..spaces.cell_graphs import OPERATIONS
from ..spaces.nasbench101 import NASBench101, NASBench101Chain
from .table import ABSENT, Column, Floats, Ints, Table
from .tfrecord import frames

DATASET = "CIFAR-10"


class Training(NamedTuple):
    """The end of one training of one cell; accuracies are in percent."""

    cell: str  # the hash that identifies it
    epochs: int
    matrix: str
    operations: tuple[str, ...]
    train: float
    valid: float
    test: float
    seconds: float


def load(path: Path, space: Space | None = None) -> Table:
    """Load a record file.

    Columns are `valid_108`, `test_108` and `train_108` (means over repeats; `_s0..2` for each repeat) and
    `train_time_s_108`, and the same for other schedules that the file has. A record takes about 45 microseconds, all
    1.3 million a minute; `own.write` keeps a table as npz, which loads faster.

    Args:
        path: The record file.
        space: NAS-Bench-101 (the default), or the chains of SCARLET-NAS, whose cells are looked up in the file.
    """
    space = space or NASBench101()
    cells = space if isinstance(space, NASBench101) else NASBench101()
    table = _tabulate(path, cells)
    if isinstance(space, NASBench101):
        return table
    if not isinstance(space, NASBench101Chain):
        raise InputError(f"{path}: the space must be nasbench101 or nasbench101-chain, got {space.name}")
    archs = np.array(list(product(*(range(int(r)) for r in space.radices))), dtype=np.int8)
    rows = table.find(np.array([cells.canonical(space.to_cell(tuple(a))) for a in archs.tolist()], dtype=np.int8))
    held = rows != ABSENT
    return Table(space, archs[held], {n: c.take(rows[held]) for n, c in table.columns.items()})


def _tabulate(path: Path, space: NASBench101) -> Table:
    number: dict[str, int] = {}  # row of each cell
    archs: list[Arch] = []
    repeats: dict[tuple[str, int], int] = {}
    keys, values = array("q"), array("d")  # of each training: row, epochs, repeat; then its numbers
    for i, t in enumerate(trainings(path)):
        if len(t.operations) > space.vertices:
            continue
        if t.cell not in number:
            number[t.cell] = len(archs)
            try:
                archs.append(_encode(space, t.matrix, t.operations))
            except (InputError, ValueError) as error:
                raise TableError(f"{path}: record {i} is not a cell of NAS-Bench-101: {error}") from None
        repeat = repeats.get((t.cell, t.epochs), 0)
        repeats[t.cell, t.epochs] = repeat + 1
        keys.extend((number[t.cell], t.epochs, repeat))
        values.extend((t.valid, t.test, t.train, t.seconds))
    if any(space.canonical(a) != a for a in archs[:200]):  # the official files list cells in canonical form
        archs = [space.canonical(a) for a in archs]
    columns = _columns(np.array(keys).reshape(-1, 3), np.array(values).reshape(-1, 4), len(archs))
    return Table(space, np.array(archs, dtype=np.int8).reshape(-1, len(space.choices)), columns)


def _columns(keys: Ints, values: Floats, n: int) -> dict[str, Column]:
    """Return for each schedule and split the mean over repeats, and each repeat."""
    columns = {}
    for epochs in sorted({int(e) for e in keys[:, 1]}, reverse=True):
        count = int(keys[keys[:, 1] == epochs, 2].max()) + 1
        runs = np.full((4, count, n), nan)
        for s in range(count):
            chosen = (keys[:, 1] == epochs) & (keys[:, 2] == s)
            runs[:, s, keys[chosen, 0]] = values[chosen].T
        ran = np.isfinite(runs)
        means = np.where(ran, runs, 0).sum(axis=1) / np.maximum(ran.sum(axis=1), 1)
        means[~ran.any(axis=1)] = nan
        for k, split in enumerate(("valid", "test", "train")):
            columns[f"{split}_{epochs}"] = Column(means[k], DATASET, split, epochs, "mean", "%")
            for s in range(count):
                columns[f"{split}_{epochs}_s{s}"] = Column(runs[k, s], DATASET, split, epochs, str(s), "%")
        columns[f"train_time_s_{epochs}"] = Column(means[3], DATASET, "", epochs, "mean", "s")
    return columns


def _encode(space: NASBench101, matrix: str, operations: tuple[str, ...]) -> Arch:
    """Encode a cell as `space.encode` does, with the work on each matrix done once: all cells share few matrices."""
    for op in operations[1:-1]:
        if op not in OPERATIONS:
            raise UnknownNameError("operation", op, OPERATIONS)
    edges = _edge_genes(space, matrix, len(operations))
    inner = [OPERATIONS.index(op) for op in operations[1:-1]]
    return (*edges, *inner, *[0] * (len(space.choices) - len(edges) - len(inner)))


@lru_cache(maxsize=100_000)
def _edge_genes(space: NASBench101, matrix: str, vertices: int) -> Arch:
    size = isqrt(len(matrix))
    rows = [[int(bit) for bit in matrix[i : i + size]] for i in range(0, len(matrix), size)]
    arch = space.encode(rows, [OPERATIONS[0]] * (vertices - 2))
    return arch[: len(space.choices) - (space.vertices - 2)]


# --- records ----------------------------------------------------------------------------------------------------------


def trainings(path: Path) -> Iterator[Training]:
    """Yield the records of a file in order; a `TableError` names the first that is cut off, damaged or malformed."""
    for i, data in enumerate(frames(path)):
        try:
            cell, epochs, matrix, operations, metrics = json.loads(data)
            final = _final(base64.b64decode(metrics, validate=True))
            train, valid, test = (100 * final[field] for field in (3, 4, 5))
            yield Training(cell, int(epochs), matrix, tuple(operations.split(",")), train, valid, test, final[2])
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, struct.error) as error:
            raise TableError(f"{path}: record {i} is malformed: {type(error).__name__} {error}") from None


def _final(metrics: bytes) -> dict[int, float]:
    """Return the fields of the last EvaluationData in a ModelMetrics message, by number.

    Field 1 of ModelMetrics is an EvaluationData for each time that the training was evaluated. Its fields are 1 epoch,
    2 training seconds, 3 train, 4 valid and 5 test accuracy (0 to 1).
    """
    last = b""
    for field, value in _fields(metrics):
        if field == 1 and isinstance(value, bytes):
            last = value
    return {field: value for field, value in _fields(last) if isinstance(value, float)}


def _fields(message: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Yield (number, value) of each field of a protocol buffer."""
    i = 0
    while i < len(message):
        tag, i = _varint(message, i)
        match tag & 7:
            case 0:
                value, i = _varint(message, i)
                yield tag >> 3, value
            case 1:
                yield tag >> 3, struct.unpack_from("<d", message, i)[0]
                i += 8
            case 2:
                size, i = _varint(message, i)
                if i + size > len(message):
                    raise ValueError("a field runs beyond its message")
                yield tag >> 3, message[i : i + size]
                i += size
            case 5:
                yield tag >> 3, struct.unpack_from("<f", message, i)[0]
                i += 4
            case wire:
                raise ValueError(f"wire type {wire} is unknown")


def _varint(message: bytes, i: int) -> tuple[int, int]:
    """Return the number at position `i`, and the position behind it."""
    number = shift = 0
    while True:
        byte = message[i]
        number |= (byte & 127) << shift
        i, shift = i + 1, shift + 7
        if byte < 128:
            return number, i
