"""A table of your own: CSV or npz, one row per architecture.

The architectures are a column `arch` in any notation that the space parses, or one column of integers (or option
names) per choice, named like the choices or `op_*`. Every other column of numbers is a measurement. In CSV an empty
cell, `nan` or `NA` is a missing number, and columns of words are ignored. A column with `test` in its name counts as
test data.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
from collections.abc import Iterable, Sequence
from math import isfinite, isinf, nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArchError, InputError, TableError, UnknownNameError
from ..reading import exists, read_bytes, reason
from ..space import Arch, Space
from .files import read_npz
from .table import Column, Table

MISSING_WORDS = ("", "nan", "na", "null", "none")
SUFFIXES = (".csv", ".npz", ".tfrecord")
ABOUT_ARRAY = "about_columns"  # array of an npz file that says where its columns come from


def read(path: str | Path, space: Space) -> Table:
    """Read a table from a file.

    Args:
        path: A CSV file, an npz file, or a record file of NAS-Bench-101.
        space: The space of its architectures.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise TableError(f"a table is a file ending in {', '.join(SUFFIXES)}, got {str(path)!r}")
    if not exists(path):
        raise TableError(f"the table {path} does not exist")
    if path.suffix == ".csv":
        return _from_cells(path, space, _read_csv(path))
    if path.suffix == ".npz":
        return _from_arrays(path, space, read_npz(path))
    from .nasbench101 import load

    return load(path, space)


def write(table: Table, path: str | Path) -> None:
    """Write a table as npz, with data set, split, schedule and seed of its columns."""
    path = Path(path)
    about = {n: {k: v for k, v in dataclasses.asdict(c).items() if k != "values"} for n, c in table.columns.items()}
    arrays: dict[str, Any] = {"archs": table.archs, ABOUT_ARRAY: np.array(json.dumps(about))}
    arrays |= {n: c.values for n, c in table.columns.items()}
    temporary = path.with_name(f".{path.stem}.tmp.npz")
    try:
        np.savez_compressed(temporary, **arrays)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise TableError(f"the table {path} cannot be written: {error.strerror}") from None


# --- CSV --------------------------------------------------------------------------------------------------------------


def _read_csv(path: Path) -> dict[str, list[str]]:
    """Return the cells of each column, as text."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), strict=True) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"the table {path} is not readable CSV: {reason(error)}") from None
    if len(lines) < 2:
        raise TableError(f"the table {path} needs a line of names and at least one row, got {len(lines)} lines")
    header = [name.strip() for name in lines[0]]
    if len(set(header)) < len(header):
        twice = next(n for n in header if header.count(n) > 1)
        raise TableError(f"the table {path} must name each column once, got {twice!r} twice")
    for number, line in enumerate(lines[1:], 1):
        if len(line) != len(header):
            raise TableError(f"row {number} of {path} must have {len(header)} cells, got {len(line)}")
    return {name: [line[i].strip() for line in lines[1:]] for i, name in enumerate(header)}


def _from_cells(path: Path, space: Space, cells: dict[str, list[str]]) -> Table:
    names = _gene_columns(path, space, cells)
    archs = _archs(path, space, [cells.pop(n) for n in names])
    columns = {n: _column(n, numbers) for n, c in cells.items() if (numbers := _numbers(path, n, c)) is not None}
    return _table(path, space, archs, columns)


def _numbers(path: Path, name: str, cells: Sequence[str]) -> npt.NDArray[np.float64] | None:
    """Return a column as numbers; None if it holds only words."""
    numbers, words = [], []
    for row, cell in enumerate(cells, 1):
        try:
            if not cell.isascii() or "_" in cell:
                raise ValueError
            numbers.append(nan if cell.lower() in MISSING_WORDS else float(cell))
        except ValueError:
            words.append((row, cell))
            continue
        if isinf(numbers[-1]):
            raise TableError(f"column {name!r} of {path} must hold finite numbers, got {cell} in row {row}")
    if words and any(isfinite(n) for n in numbers):
        raise TableError(f"column {name!r} of {path} must hold numbers, got {words[0][1]!r} in row {words[0][0]}")
    return None if words else np.array(numbers)


# --- npz --------------------------------------------------------------------------------------------------------------


def _from_arrays(path: Path, space: Space, arrays: dict[str, npt.NDArray[Any]]) -> Table:
    try:
        about = json.loads(str(arrays.pop(ABOUT_ARRAY, "{}")))
    except ValueError:
        raise TableError(f"{ABOUT_ARRAY!r} of {path} must be the JSON text that `own.write` stores") from None
    if "archs" in arrays:
        genes = arrays.pop("archs")
        if genes.ndim != 2 or genes.dtype.kind not in "iu":
            raise TableError(f"'archs' of {path} must be rows of integers, got shape {genes.shape} of {genes.dtype}")
        archs = [tuple(g) for g in genes.tolist()] if about else _archs(path, space, genes.T.tolist())
    else:
        names = _gene_columns(path, space, arrays)
        archs = _archs(path, space, [arrays.pop(n).tolist() for n in names])
    columns = {}
    for name, values in arrays.items():
        if values.dtype.kind not in "iufb" or values.ndim != 1:
            continue
        if len(values) != len(archs):
            raise TableError(f"column {name!r} of {path} must have {len(archs)} values, got {len(values)}")
        if np.isinf(values).any():
            raise TableError(f"column {name!r} of {path} must hold finite numbers, got infinity")
        columns[name] = _column(name, values.astype(np.float64), **about.get(name, {}))
    return _table(path, space, archs, columns)


# --- both -------------------------------------------------------------------------------------------------------------


def _gene_columns(path: Path, space: Space, names: Iterable[str]) -> list[str]:
    """Return the names of the columns that give the architecture of a row."""
    if "arch" in names:
        return ["arch"]
    choices = [c.name for c in space.choices]
    if set(choices) <= set(names):
        return choices
    genes = [n for n in names if n.startswith("op_")]
    if len(genes) == len(choices):
        return genes
    raise TableError(
        f"the table {path} must have a column 'arch', or one for each of the {len(choices)} choices of {space.name} "
        f"(named {choices[0]!r}, ... or op_*), got {', '.join(names)}"
    )


def _archs(path: Path, space: Space, columns: Sequence[Sequence[Any]]) -> list[Arch]:
    """Return the architectures, from one column of text or from one column per gene."""
    archs = []
    for row, cells in enumerate(zip(*columns, strict=True), 1):
        try:
            if len(columns) == 1 and isinstance(cells[0], str):
                archs.append(space.parse(cells[0]))
            else:
                archs.append(space.check(_gene(space, i, cell) for i, cell in enumerate(cells)))
        except InputError as error:
            raise TableError(f"row {row} of {path} is not an architecture: {error}") from None
    return archs


def _gene(space: Space, i: int, cell: Any) -> int:
    """Return a gene that is given as an integer or by the name of its option."""
    options = [str(o) for o in space.choices[i].options] if i < len(space.choices) else []
    if isinstance(cell, str) and not (cell.isascii() and cell.lstrip("-").isdigit()):
        if cell not in options:
            raise UnknownNameError(f"option of {space.choices[i].name}", cell, options)
        return options.index(cell)
    if isinstance(cell, float) and cell != int(cell):
        raise ArchError(f"a gene must be an integer, got {cell}")
    return int(cell)


def _column(name: str, values: npt.NDArray[np.float64], **about: Any) -> Column:
    guess = "test" if "test" in name.lower() else "valid" if "val" in name.lower() else ""
    return Column(values, **{"split": guess, **about})


def _table(path: Path, space: Space, archs: list[Arch], columns: dict[str, Column]) -> Table:
    if not columns:
        raise TableError(f"the table {path} must have a column of numbers beside the architectures, got none")
    try:
        return Table(space, np.array(archs, dtype=np.int8), columns)
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
