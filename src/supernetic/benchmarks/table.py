"""A benchmark table: architectures of a space, and what was measured for each.

Every column has its data set, split, schedule and seed. `is_test` marks columns of test data, so that searches can
refuse them and validation is never mistaken for test.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError, TableError, UnknownNameError
from ..space import Arch, Archs, Space

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ABSENT = -1  # row of an architecture that the table does not hold


@dataclass(frozen=True)
class Column:
    """One number per architecture, and where it comes from.

    Args:
        values: The numbers; NaN for a missing one.
        dataset: Name of the data set.
        split: train, valid, test or valid+test; "" if the numbers do not depend on one.
        epochs: Length of the training schedule.
        seed: "mean", the number of a seed, or "one" if that number was not published.
        unit: "%", "ms", "s", ...
    """

    values: Floats
    dataset: str = ""
    split: str = ""
    epochs: int | None = None
    seed: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _locked(np.asarray(self.values, dtype=np.float64)))

    @property
    def is_test(self) -> bool:
        """Whether test data went into the numbers, so that a search must not use them."""
        return "test" in self.split

    def take(self, rows: Ints) -> Column:
        """Return the column with only these rows, in the order given."""
        return dataclasses.replace(self, values=self.values[rows])

    def __str__(self) -> str:
        schedule = "" if self.epochs is None else f"{self.epochs} epochs"
        seed = {"": "", "mean": "mean of seeds", "one": "one seed"}.get(self.seed, f"seed {self.seed}")
        return ", ".join(filter(None, (self.dataset, self.split, schedule, seed, self.unit)))


def canonical(space: Any, archs: Archs) -> Sequence[Hashable]:
    """Label architectures by the space's own rule for encodings of the same network; most tables use it."""
    if hasattr(space, "keys"):  # a space with many encodings per network may number many networks at once
        keys: list[int] = space.keys(archs).tolist()
        return keys
    return [space.canonical(tuple(a)) for a in archs.tolist()]


@dataclass(frozen=True, eq=False)
class Table:
    """A table whose rows are architectures, each at most once, and whose columns are measurements.

    Args:
        space: The space of the architectures.
        archs: One architecture per row.
        columns: Measurements by name.
        same: Gives a label per row, equal for encodings of the same network.
    """

    space: Space
    archs: Archs
    columns: Mapping[str, Column]
    same: Callable[[Any, Archs], Sequence[Hashable]] = canonical

    def __post_init__(self) -> None:
        object.__setattr__(self, "archs", _locked(np.asarray(self.archs, dtype=np.int8)))
        if self.archs.ndim != 2 or self.archs.shape[1] != len(self.space.choices):
            raise TableError(
                f"a table of {self.space.name} must have {len(self.space.choices)} genes per row, "
                f"got an array of shape {self.archs.shape}"
            )
        for name, column in self.columns.items():
            if column.values.shape != (len(self),):
                raise TableError(f"column {name!r} must have {len(self)} values, got {column.values.shape}")
        keys = self._index[0]
        twice = np.flatnonzero(keys[1:] == keys[:-1])
        if len(twice):
            arch = self.space.format(self._arch(self._index[1][twice[0]]))
            raise TableError(f"a table must hold each architecture once, got {arch} more often")

    def __len__(self) -> int:
        return len(self.archs)

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise UnknownNameError("column", name, self.columns)
        return self.columns[name]

    def __iter__(self) -> Iterator[Arch]:
        return (tuple(a) for a in self.archs.tolist())

    def __contains__(self, arch: Arch) -> bool:
        return bool(self.find(np.array([arch], dtype=np.int8))[0] != ABSENT)

    def _arch(self, row: int | np.intp) -> Arch:
        return tuple(int(g) for g in self.archs[row])

    # --- look-up ------------------------------------------------------------------------------------------------------

    @cached_property
    def _index(self) -> tuple[npt.NDArray[np.bytes_], Ints]:
        """Keys in ascending order and the row of each."""
        keys = _keys(self.archs)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def find(self, archs: Archs) -> Ints:
        """Return the row of each architecture or of its canonical form; `ABSENT` if the table holds neither."""
        archs = np.atleast_2d(np.asarray(archs, dtype=np.int8))
        if archs.shape[1] != self.archs.shape[1]:
            raise TableError(
                f"an architecture of {self.space.name} has {self.archs.shape[1]} integers, got {archs.shape[1]}"
            )
        rows = self._find(archs)
        absent = np.flatnonzero(rows == ABSENT)
        if len(absent) and self.counts_networks:
            canonical = [self.space.canonical(tuple(a)) for a in archs[absent].tolist()]
            rows[absent] = self._find(np.array(canonical, dtype=np.int8))
        return rows

    def _find(self, archs: Archs) -> Ints:
        keys, order = self._index
        if not len(self):
            return np.full(len(archs), ABSENT, dtype=np.int64)
        sought = _keys(archs)
        position = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
        return np.where(keys[position] == sought, order[position], ABSENT)

    def rows(self, archs: Archs) -> Ints:
        """Return the row of each architecture; a `TableError` names the first one that the table does not hold."""
        rows = self.find(archs)
        absent = np.flatnonzero(rows == ABSENT)
        if len(absent):
            arch = tuple(int(g) for g in np.atleast_2d(archs)[absent[0]])
            text = self.space.format(self.space.check(arch))
            raise TableError(f"the table of {self.space.name} holds {len(self)} architectures, but not {text}")
        return rows

    def lookup(self, archs: Archs, column: str) -> Floats:
        """Return the value of a column for each architecture.

        Args:
            archs: One architecture per row; the table must hold all of them.
            column: Name of the column.
        """
        return self[column].values[self.rows(archs)]

    # --- smaller tables -----------------------------------------------------------------------------------------------

    def take(self, rows: Ints) -> Table:
        """Return the table with only these rows, in the order given."""
        columns = {n: c.take(rows) for n, c in self.columns.items()}
        return dataclasses.replace(self, archs=self.archs[rows], columns=columns)

    def restrict(self, without: Sequence[str]) -> Table:
        """Return the rows that use none of these operations, encoded in the space without them."""
        space: Any = self.space
        if not without:
            return self
        if not hasattr(space, "without"):
            raise InputError(f"{space.name} has no operations that can be masked, got without={'+'.join(without)}")
        masked = dataclasses.replace(space, without=(*space.without, *without))
        new_gene = np.full((len(space.choices), int(space.radices.max())), ABSENT, dtype=np.int8)
        for i, (old, new) in enumerate(zip(space.choices, masked.choices, strict=True)):
            for gene, option in enumerate(old.options):
                if option in new.options:
                    new_gene[i, gene] = new.options.index(option)
        archs = new_gene[np.arange(self.archs.shape[1]), self.archs]
        kept = np.flatnonzero((archs != ABSENT).all(axis=1))
        columns = self.take(kept).columns
        return dataclasses.replace(self, space=masked, archs=archs[kept], columns=columns)

    # --- encodings of the same network --------------------------------------------------------------------------------

    @property
    def counts_networks(self) -> bool:
        """Whether the space defines which encodings are the same network; then rankings count networks."""
        return type(self.space).canonical is not Space.canonical

    def networks(self) -> Ints:
        """Return for each row the number of its network, counted in the order of first appearance."""
        numbers: dict[Hashable, int] = {}
        labels = self.same(self.space, self.archs)
        return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)

    def unique(self) -> Table:
        """Return the table with one row per network: its canonical encoding, and values averaged over encodings."""
        group = self.networks()
        if not len(self) or group[-1] == len(self) - 1:  # as many networks as rows
            return self
        first = np.unique(group, return_index=True)[1]
        archs = np.array([self.space.canonical(self._arch(r)) for r in first], dtype=np.int8)
        columns = {n: dataclasses.replace(c, values=group_mean(c.values, group)) for n, c in self.columns.items()}
        return dataclasses.replace(self, archs=archs, columns=columns)


def _locked(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written, because tables are shared."""
    view = array.view()
    view.flags.writeable = False
    return view


def _keys(archs: Archs) -> npt.NDArray[np.bytes_]:
    """Return a sortable key per row. Bytes rather than a mixed-radix number: 13^19 does not fit 64 bits."""
    archs = np.ascontiguousarray(archs, dtype=np.int8)
    return archs.view(f"S{archs.shape[1]}").ravel()


def group_mean(values: Floats, group: Ints) -> Floats:
    """Return the mean of the finite values of each group; NaN if it has none.

    Args:
        values: The numbers.
        group: The group of each, counted from 0.
    """
    finite = np.isfinite(values)
    count = np.bincount(group, weights=finite)
    total = np.bincount(group, weights=np.where(finite, values, 0.0))
    mean = np.full(len(count), np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    # a mean of equal numbers must be that number, or ties would be lost to rounding
    low = np.full(len(count), np.inf)
    np.minimum.at(low, group[finite], values[finite])
    high = np.full(len(count), -np.inf)
    np.maximum.at(high, group[finite], values[finite])
    return np.where(low == high, low, mean)
