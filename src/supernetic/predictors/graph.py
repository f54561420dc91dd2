"""What the graphs of networks say about them: layers that count, paths and how long they are, many networks at once.

Only live layers count: those that the image reaches and that reach the logits, with no zeros on the way. Where all
wires meet in one layer a network falls into segments (in a chain every layer is one; in cells, each cell). Lengths of
the longest and shortest path and the logarithm of the number of paths add up over segments, as counts do, and equal
segments are walked once.

The words of a segment are what its paths consist of, as in the path encoding of White, Neiswanger & Savani, "BANANAS",
arXiv 1910.11858, but with layers that only pass on what they read left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..blueprint import Blueprint, Layer, parts
from ..costs.macs import macs_and_params

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Columns = dict[str, Floats]  # by name, one number per network
Inputs = tuple[tuple[int, ...], ...]  # by layer of a segment, the layers of it that it reads; -1 is the one before

PATHS = 100  # of a segment; if there are more, they are not told apart by what they consist of
LENGTHS = ("convolutions", "spatial layers", "spatial convolutions")  # what is counted along a path
GRAPH = ("layers", "path", "paths", "joined", "longest", "shortest")  # how the names of columns begin
COST = ("cost", "live", "macs")
BESIDE = ("squeeze", "excite", "shortcut")  # convolutions that do not make a layer deeper


class Look(NamedTuple):
    """A layer as far as paths are concerned."""

    label: str
    zero: bool
    depth: int  # convolutions one behind the other
    spatial: bool  # sees more than one pixel

    @property
    def word(self) -> str:
        """What it adds to the description of a path: nothing if it only passes on what it reads."""
        return f" {self.label}" if self.depth or self.spatial else ""


class Walked(NamedTuple):
    """What there is to know of a segment."""

    counts: Mapping[str, float]
    live: tuple[bool, ...]  # by layer; none is if no path leads through


def block_of(column: str) -> str:
    """The block that a column belongs to: graph, cost or layers."""
    kind = column.split()[0]
    return "graph" if kind in GRAPH else "cost" if kind in COST else "layers"


def look_of(layer: Layer) -> Look:
    """How a layer looks on a path."""
    depth = sum(p.kernel > 0 and p.role not in BESIDE for p in parts(layer))
    spatial = layer.kernel > 1 and (depth > 0 or "pool" in layer.kind)
    return Look(layer.label, layer.kind == "zero", depth, spatial)


@lru_cache(maxsize=200_000)
def walk(looks: tuple[Look, ...], inputs: Inputs) -> Walked:
    """Live layers, paths and their lengths, from the layer before the segment to its last one."""
    live = _live(looks, inputs)
    if not live[-1]:
        return Walked({}, live)
    counts: Counter[str] = Counter()
    paths: list[int] = []
    ends: list[list[int]] = []  # by layer: longest and shortest paths to it
    for i, look in enumerate(looks):
        sources = [s for s in inputs[i] if s < 0 or live[s]]
        if not live[i] or not sources:
            paths.append(0)
            ends.append([])
            continue
        steps = (look.depth, int(look.spatial), int(look.spatial and look.depth > 0)) * 2
        before = [ends[s] if s >= 0 else [0] * len(steps) for s in sources]
        paths.append(sum(paths[s] if s >= 0 else 1 for s in sources))
        columns = zip(*before, strict=True)
        extremes = (max,) * len(LENGTHS) + (min,) * len(LENGTHS)
        ends.append([best(column) + step for best, column, step in zip(extremes, columns, steps, strict=True)])
        if look.word:
            counts["layers" + look.word] += 1
        counts["joined"] += len(sources) - 1
    numbers: dict[str, float] = dict(counts)
    numbers["paths"] = log(paths[-1])
    names = [f"{end} {what}" for end in ("longest", "shortest") for what in LENGTHS]
    numbers |= dict(zip(names, ends[-1], strict=True))
    if paths[-1] <= PATHS:
        numbers |= Counter("path" + w for w in _words(looks, inputs, live))
    return Walked(numbers, live)


def _live(looks: Sequence[Look], inputs: Inputs) -> tuple[bool, ...]:
    reached: list[bool] = []
    for look, sources in zip(looks, inputs, strict=True):
        reached.append(not look.zero and any(s < 0 or reached[s] for s in sources))
    used = [False] * len(looks)
    used[-1] = reached[-1]
    for i in range(len(looks) - 1, -1, -1):
        used[i] &= reached[i]
        for s in inputs[i] if used[i] else ():
            if s >= 0:
                used[s] = True
    return tuple(used)


def _words(looks: Sequence[Look], inputs: Inputs, live: Sequence[bool]) -> list[str]:
    words: list[list[str]] = []
    for i, look in enumerate(looks):
        before = [w for s in inputs[i] if s < 0 or live[s] for w in (words[s] if s >= 0 else [""])]
        words.append([w + look.word for w in before] if live[i] else [])
    return words[-1]


def cut(wiring: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """(first layer, layer behind the last) of each segment: nothing behind it reads what is before its last layer."""
    least = list(range(-1, len(wiring)))  # of each layer: the earliest that it or one behind it reads
    for i in range(len(wiring) - 1, -1, -1):
        least[i] = min(*wiring[i], least[i + 1])
    start = 0
    for i in range(len(wiring)):
        if i + 1 == len(wiring) or least[i + 1] >= i:
            yield start, i + 1
            start = i + 1


class Networks:
    """Blueprints in groups that have the same layers and wires, and differ in what the layers are."""

    def __init__(self, blueprints: Iterable[Blueprint]) -> None:
        ids: dict[Layer, int] = {}
        rows = [np.array([ids.setdefault(x, len(ids)) for x in b.layers]) for b in blueprints]
        self.n = len(rows)
        self.layers = list(ids)
        shapes: dict[tuple[str, tuple[str, ...]], int] = {}
        shape = np.array([shapes.setdefault((x.name, x.inputs), len(shapes)) for x in ids], dtype=np.int64)
        groups: dict[bytes, list[int]] = defaultdict(list)
        for i, row in enumerate(rows):
            groups[shape[row].tobytes()].append(i)
        self.groups = [(np.array(g), np.stack([rows[i] for i in g])) for g in groups.values()]
        self.looks = list(map(look_of, self.layers))
        kinds: dict[Look, int] = {}
        self.kind = np.array([kinds.setdefault(x, len(kinds)) for x in self.looks], dtype=np.int64)
        self.kinds = list(kinds)
        self.macs, self.params = np.array([macs_and_params(x) for x in self.layers], dtype=np.float64).reshape(-1, 2).T
        self.width = np.array([log(x.c_out) for x in self.layers])

    def columns(self, wanted: set[str] | None = None) -> Columns:
        """All numbers by name, or those wanted."""
        columns: Columns = defaultdict(lambda: np.zeros(self.n))
        for rows, codes in self.groups:
            for name, values in self._group(codes, wanted):
                columns[name][rows] += values
        return {name: np.round(values, 9) for name, values in columns.items()}  # equal is equal in any order of adding

    def _group(self, codes: Ints, wanted: set[str] | None) -> Iterator[tuple[str, Floats]]:
        """(name, what to add) for networks with the same wires."""
        first = Blueprint(tuple(self.layers[c] for c in codes[0]))
        wiring = first.wiring()
        live = np.zeros(codes.shape, dtype=bool)
        found: list[tuple[str, Floats]] = []
        cache: dict[tuple[bytes, Inputs], tuple[Mapping[str, Floats], Bools]] = {}
        for start, stop in cut(wiring):
            inputs = tuple(tuple(max(s - start, -1) for s in wiring[i]) for i in range(start, stop))
            kinds, place = _distinct_rows(self.kind[codes[:, start:stop]])
            key = kinds.tobytes(), inputs
            if key not in cache:
                cache[key] = _tabulate([walk(tuple(self.kinds[k] for k in row), inputs) for row in kinds.tolist()])
            counts, alive = cache[key]
            live[:, start:stop] = alive[place]
            stage = first.layers[stop - 1].stage
            for name, values in counts.items():
                found += [(n, values[place]) for n in (name, f"{name} in stage {stage}") if not wanted or n in wanted]
        ends = [stop - 1 for _, stop in cut(wiring)]
        whole: Bools = np.all(live[:, ends], axis=1)  # else nothing gets through at all
        live &= whole[:, None]
        yield from ((name, values * whole) for name, values in found)
        yield from self._by_layer(first, wiring, codes, live, wanted)
        for name, cost in (("macs", self.macs), ("params", self.params)):
            yield f"cost {name}", cost[codes].sum(axis=1)
            yield f"live {name}", (cost[codes] * live).sum(axis=1)

    def _by_layer(
        self, first: Blueprint, wiring: Sequence[tuple[int, ...]], codes: Ints, live: Bools, wanted: set[str] | None
    ) -> Iterator[tuple[str, Floats]]:
        """What each layer is, by its name, and how many it joins."""
        for i, layer in enumerate(first):
            if layer.kind == "join":
                yield f"layer {layer.name} joins", live[:, [s for s in wiring[i] if s >= 0]].sum(axis=1) * live[:, i]
                continue
            if not wanted or f"layer {layer.name} width" in wanted:
                yield f"layer {layer.name} width", self.width[codes[:, i]] * live[:, i]
            for code in np.unique(codes[:, i]).tolist():
                look = self.looks[code]
                name = f"layer {layer.name} is {look.label}"
                if not wanted or name in wanted:
                    yield name, (codes[:, i] == code) * live[:, i].astype(float)
                if look.depth and (not wanted or f"macs {look.label}" in wanted):
                    yield f"macs {look.label}", (codes[:, i] == code) * live[:, i] * self.macs[code]


def _distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """(rows that differ, which of them each row is)."""
    if (rows == rows[0]).all():  # the usual case, and far faster
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    return distinct, place.ravel()


def _tabulate(walked: Sequence[Walked]) -> tuple[Mapping[str, Floats], Bools]:
    names = dict.fromkeys(n for w in walked for n in w.counts)
    return {n: np.array([w.counts.get(n, 0.0) for w in walked]) for n in names}, np.array([w.live for w in walked])
