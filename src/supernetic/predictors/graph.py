"""Features of the graphs of networks: layers, paths and their lengths, for many networks at once.

Only live layers count: those that the image reaches and that reach the logits, with no zeros on the way. A network is
cut into segments at layers through which all paths lead (in a chain every layer is a segment; in cells, each cell).
Counts, lengths of the longest and shortest path, and the logarithm of the number of paths add up over segments, and
equal segments are described once.

The words of a segment describe its paths, as in the path encoding of White, Neiswanger & Savani, "BANANAS", arXiv
1910.11858, but without layers that only pass on their input.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
Inputs = tuple[tuple[int, ...], ...]  # by layer of a segment: the layers it reads, within the segment; -1 is its input

MAX_DESCRIBED_PATHS = 100  # of a segment; if there are more, its paths are not described by their layers
LENGTH_NAMES = ("convolutions", "spatial layers", "spatial convolutions")  # what is counted along a path
GRAPH_PREFIXES = ("layers", "path", "paths", "joined", "longest", "shortest")  # first words of column names
COST_PREFIXES = ("cost", "live", "macs")
OFF_PATH_ROLES = ("squeeze", "excite", "shortcut")  # convolutions that do not make a layer deeper


class PathLayer(NamedTuple):
    """The properties of a layer that matter on a path."""

    label: str
    zero: bool
    depth: int  # number of convolutions in sequence
    spatial: int  # how many of its operations, in sequence, read more than one pixel

    @property
    def word(self) -> str:
        """What it adds to the description of a path: "" if it only passes on its input."""
        return f" {self.label}" if self.depth or self.spatial else ""

    @property
    def lengths(self) -> tuple[int, ...]:
        """What it adds to each of the `LENGTH_NAMES`."""
        return self.depth, self.spatial, self.spatial if self.depth else 0


class Segment(NamedTuple):
    """The features of a segment."""

    counts: Mapping[str, float]  # by name; empty if no path leads through
    live: tuple[bool, ...]  # by layer; all False if no path leads through


def block_of(column: str) -> str:
    """Return the block that a column belongs to: graph, cost or layers."""
    kind = column.split()[0]
    return "graph" if kind in GRAPH_PREFIXES else "cost" if kind in COST_PREFIXES else "layers"


def path_layer_of(layer: Layer) -> PathLayer:
    """Return the properties of a layer that matter on a path."""
    kernels = [p.kernel for p in parts(layer) if p.kernel and p.role not in OFF_PATH_ROLES]
    depth, spatial = len(kernels), sum(k > 1 for k in kernels)
    if "pool" in layer.kind:
        spatial = int(layer.kernel > 1)
    return PathLayer(layer.label, layer.kind == "zero", depth, spatial)


@lru_cache(maxsize=200_000)
def describe(layers: tuple[PathLayer, ...], inputs: Inputs) -> Segment:
    """Describe a segment: its live layers, its paths and their lengths.

    Args:
        layers: The layers of the segment.
        inputs: What each of them reads.
    """
    live = _live(layers, inputs)
    if not live[-1]:
        return Segment({}, live)
    sources = [[s for s in read if s < 0 or live[s]] if alive else [] for read, alive in zip(inputs, live, strict=True)]
    counts: Counter[str] = Counter()
    for layer, read in zip(layers, sources, strict=True):
        if read and layer.word:
            counts["layers" + layer.word] += 1
        if read:
            counts["joined"] += len(read) - 1
    n_paths = _path_count(sources)
    numbers: dict[str, float] = {**counts, "paths": log(n_paths)}
    for name, best in (("longest", max), ("shortest", min)):
        lengths = _lengths(layers, sources, best)
        numbers |= {f"{name} {what}": n for what, n in zip(LENGTH_NAMES, lengths, strict=True)}
    if n_paths <= MAX_DESCRIBED_PATHS:
        numbers |= Counter("path" + w for w in _words(layers, sources))
    return Segment(numbers, live)


def _live(layers: Sequence[PathLayer], inputs: Inputs) -> tuple[bool, ...]:
    reached: list[bool] = []
    for layer, read in zip(layers, inputs, strict=True):
        reached.append(not layer.zero and any(s < 0 or reached[s] for s in read))
    used = [False] * len(layers)
    used[-1] = reached[-1]
    for i in range(len(layers) - 1, -1, -1):
        used[i] &= reached[i]
        for s in inputs[i] if used[i] else ():
            if s >= 0:
                used[s] = True
    return tuple(used)


def _path_count(sources: Sequence[Sequence[int]]) -> int:
    """Return the number of paths from the input of a segment to its last layer; dead layers have no sources."""
    paths: list[int] = []
    for read in sources:
        paths.append(sum(paths[s] if s >= 0 else 1 for s in read))
    return paths[-1]


def _lengths(
    layers: Sequence[PathLayer], sources: Sequence[Sequence[int]], best: Callable[[Iterable[int]], int]
) -> Sequence[int]:
    """Return the best of the lengths of all paths through a segment, for each of the `LENGTH_NAMES`."""
    ends: list[Sequence[int]] = []
    for layer, read in zip(layers, sources, strict=True):
        before = [ends[s] if s >= 0 else (0,) * len(LENGTH_NAMES) for s in read]
        ends.append(
            [best(n) + own for n, own in zip(zip(*before, strict=True), layer.lengths, strict=True)] if read else ()
        )
    return ends[-1]


def _words(layers: Sequence[PathLayer], sources: Sequence[Sequence[int]]) -> list[str]:
    """Return the description of each path through a segment."""
    words: list[list[str]] = []
    for layer, read in zip(layers, sources, strict=True):
        words.append([w + layer.word for s in read for w in (words[s] if s >= 0 else [""])])
    return words[-1]


def cut(wiring: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """Yield (first layer, layer behind the last) of each segment: no later layer reads one before its last layer."""
    least = list(range(-1, len(wiring)))  # by layer: the earliest that it or any later one reads
    for i in range(len(wiring) - 1, -1, -1):
        least[i] = min(*wiring[i], least[i + 1])
    start = 0
    for i in range(len(wiring)):
        if i + 1 == len(wiring) or least[i + 1] >= i:
            yield start, i + 1
            start = i + 1


class Networks:
    """Networks in groups that have the same layer names and connections, and differ in what the layers are."""

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
        self.path_layers = list(map(path_layer_of, self.layers))
        kinds: dict[PathLayer, int] = {}
        self.kind = np.array([kinds.setdefault(x, len(kinds)) for x in self.path_layers], dtype=np.int64)
        self.kinds = list(kinds)
        self.macs, self.params = np.array([macs_and_params(x) for x in self.layers], dtype=np.float64).reshape(-1, 2).T
        self.width = np.array([log(x.c_out) for x in self.layers])

    def columns(self, names: set[str] | None = None) -> Columns:
        """Return the features by name; with `names`, others may be left out."""
        columns: Columns = defaultdict(lambda: np.zeros(self.n))
        for rows, codes in self.groups:
            for name, values in self._group(codes, names):
                columns[name][rows] += values
        return {name: np.round(values, 9) for name, values in columns.items()}  # equal is equal in any order of adding

    def _group(self, codes: Ints, names: set[str] | None) -> Iterator[tuple[str, Floats]]:
        """Yield (name, what to add) for networks with the same connections."""
        first = Blueprint(tuple(self.layers[c] for c in codes[0]))
        wiring = first.wiring()
        live = np.zeros(codes.shape, dtype=bool)
        segments: list[tuple[str, Floats]] = []
        cache: dict[tuple[bytes, Inputs], tuple[Mapping[str, Floats], Bools]] = {}
        for start, stop in cut(wiring):
            inputs = tuple(tuple(max(s - start, -1) for s in wiring[i]) for i in range(start, stop))
            kinds, which = _distinct_rows(self.kind[codes[:, start:stop]])
            key = kinds.tobytes(), inputs
            if key not in cache:
                cache[key] = _tabulate([describe(tuple(self.kinds[k] for k in row), inputs) for row in kinds.tolist()])
            counts, alive = cache[key]
            live[:, start:stop] = alive[which]
            stage = first.layers[stop - 1].stage
            for name, values in counts.items():
                segments += [(n, values[which]) for n in (name, f"{name} in stage {stage}") if not names or n in names]
        ends = [stop - 1 for _, stop in cut(wiring)]
        whole: Bools = np.all(live[:, ends], axis=1)  # otherwise no path leads through the network
        live &= whole[:, None]
        yield from ((name, values * whole) for name, values in segments)
        yield from self._by_layer(first, wiring, codes, live, names)
        for name, cost in (("macs", self.macs), ("params", self.params)):
            yield f"cost {name}", cost[codes].sum(axis=1)
            yield f"live {name}", (cost[codes] * live).sum(axis=1)

    def _by_layer(
        self, first: Blueprint, wiring: Sequence[tuple[int, ...]], codes: Ints, live: Bools, names: set[str] | None
    ) -> Iterator[tuple[str, Floats]]:
        """Yield what each layer is, by its name, and how many live layers it joins."""
        for i, layer in enumerate(first):
            if layer.kind == "join":
                yield f"layer {layer.name} joins", live[:, [s for s in wiring[i] if s >= 0]].sum(axis=1) * live[:, i]
                continue
            if not names or f"layer {layer.name} width" in names:
                yield f"layer {layer.name} width", self.width[codes[:, i]] * live[:, i]
            for code in np.unique(codes[:, i]).tolist():
                option = self.path_layers[code]
                name = f"layer {layer.name} is {option.label}"
                if not names or name in names:
                    yield name, (codes[:, i] == code) * live[:, i].astype(float)
                if option.depth and (not names or f"macs {option.label}" in names):
                    yield f"macs {option.label}", (codes[:, i] == code) * live[:, i] * self.macs[code]


def _distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows, and which of them each row is."""
    if (rows == rows[0]).all():  # the usual case, and far faster
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    return distinct, which.ravel()


def _tabulate(segments: Sequence[Segment]) -> tuple[Mapping[str, Floats], Bools]:
    names = dict.fromkeys(n for s in segments for n in s.counts)
    counts = {n: np.array([s.counts.get(n, 0.0) for s in segments]) for n in names}
    return counts, np.array([s.live for s in segments])
