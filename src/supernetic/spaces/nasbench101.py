"""NAS-Bench-101: cells that are any small graph of three operations; and SCARLET's subspace of chains.

Paper: Ying et al., "NAS-Bench-101", arXiv 1902.09635; five of its cells are studied in "Small Data" (paper 000), the
chains in SCARLET-NAS (paper 004, section 6.2).
Differences: the published builder can give the same cell one channel more or less here and there, depending on the
order of its vertices; we always build the order that the benchmark trained (see `NASBench101.canonical`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from ..blueprint import Blueprint, Layer, halved
from ..errors import ArchError, InputError, UnknownNameError
from ..space import Arch, Archs, Choice, SequentialSpace, Space
from ..stabiliser import require_stabiliser, stabilise
from .cell_graphs import (
    CHUNK,
    MAX_EDGES,
    OPERATIONS,
    Ints,
    column_major,
    count_matrices,
    edges_of,
    is_valid,
    labellings,
    matrices_of,
    on_path,
    relabellings,
    strip,
)

SHORT = ("c3", "c1", "mp")
KINDS = {"conv3x3-bn-relu": ("conv", 3), "conv1x1-bn-relu": ("conv", 1), "maxpool3x3": ("maxpool", 3)}
VALID_MATRICES = 1_538_083  # of seven vertices; `count_matrices` would take a second
UNIQUE_CELLS = 423_624  # different cells among all encodings of seven vertices

CELLS = {
    "small-data-1": "0100000 0011000 0001100 0000011 0000010 0000001 0; c1 c3 c1 mp mp",
    "small-data-2": "0100001 0010000 0001101 0000001 0000010 0000001 0; mp mp c3 mp c3",
    "small-data-3": "0100011 0011000 0000001 0000100 0000010 0000001 0; mp c3 c3 mp mp",
    "small-data-4": "0101000 0010010 0001001 0000100 0000010 0000001 0; c3 c1 c1 c1 c3",
    "small-data-5": "011111 000010 000100 000010 000001 0; c3 c3 c3 c3",
    "inception": "0111010 0000001 0000001 0000100 0000001 0000001 0; c1 c3 c3 c3 mp",  # the benchmark's own example
}

Matrix = Sequence[Sequence[int]]  # 1 where an edge leads from the row's vertex to the column's


class Site(NamedTuple):
    """A place for a cell in the network."""

    name: str
    c_in: int
    c_out: int
    resolution: int
    stage: int
    opens: bool  # the first of its stack


@dataclass(frozen=True)
class Skeleton:
    """The network around the cells: stem, stacks of cells with a pooling between them, classifier."""

    channels: int = 128  # of the first stack; each following one has twice as many
    cells: int = 3  # per stack
    stacks: int = 3
    resolution: int = 32
    classes: int = 10
    in_channels: int = 3

    def _sites(self) -> Iterator[Site]:
        c_in, resolution = self.channels, self.resolution
        for stack in range(self.stacks):
            c_out = self.channels << stack
            for n in range(self.cells):
                yield Site(f"cell{stack * self.cells + n}", c_in, c_out, resolution, stack + 1, opens=n == 0)
                c_in = c_out
            resolution = halved(resolution, 2)

    def _network(self, cell: Callable[[Site, str], Sequence[Layer]]) -> Blueprint:
        """The whole network, given the layers of a cell at a site that reads the layer of that name."""
        layers = [
            Layer("stem", "conv", self.in_channels, self.channels, self.resolution, self.resolution, 3, act="relu")
        ]
        for site in self._sites():
            before = layers[-1]
            if site.opens and site.stage > 1:
                c = before.c_out
                layers.append(
                    Layer(f"pool{site.stage - 1}", "maxpool", c, c, before.resolution_out, site.resolution, 2, 2)
                )
            layers += cell(site, layers[-1].name)
        c, resolution = layers[-1].c_out, layers[-1].resolution_out
        layers += [Layer("head.pool", "gap", c, c, resolution, 1), Layer("classifier", "linear", c, self.classes, 1, 1)]
        return Blueprint(tuple(layers))


@dataclass(frozen=True)
class NASBench101(Skeleton, Space):
    """Vertex 0 is the cell's input, the last its output; every vertex between them has an operation.

    An encoding lists the edges (upper triangle, row by row), then the operations. Vertices on no path from input to
    output do not count, and at most nine edges may be left without them. `sample` is uniform over encodings, not cells.
    """

    vertices: int = 7  # at most, input and output included

    name: ClassVar[str] = "nasbench101"
    paper: ClassVar[str] = "000"
    sharing: ClassVar[str] = "cell"

    def __post_init__(self) -> None:
        if not 3 <= self.vertices <= 7:
            raise InputError(f"nasbench101: vertices must lie in 3..7, got {self.vertices}")
        if self.channels < self.vertices - 2:
            raise InputError(
                f"nasbench101: channels must be at least {self.vertices - 2}, one for each vertex that may feed the "
                f"output, got {self.channels}"
            )

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """One gene per possible edge, one per vertex between input and output."""
        edges = tuple(Choice(f"{i}->{j}", (0, 1)) for i, j in edges_of(self.vertices))
        return edges + tuple(Choice(f"op{v}", OPERATIONS) for v in range(1, self.vertices - 1))

    @property
    def size(self) -> int:
        """Number of valid encodings; those of seven vertices stand for 423,624 cells."""
        matrices = VALID_MATRICES if self.vertices == 7 else count_matrices(self.vertices)
        return matrices * labellings(self.vertices)

    def _invalid_reason(self, arch: Arch) -> str:
        n = int(strip(np.array([arch]), self.vertices)[0, : len(edges_of(self.vertices))].sum())
        if n == 0:
            return "an edge or a path must lead from the input (first row) to the output (last column)"
        return f"at most {MAX_EDGES} edges may lie on paths from input to output, not {n}" if n > MAX_EDGES else ""

    def sample(self, rng: np.random.Generator, n: int, *, depth_uniform: bool = False) -> Archs:
        """`n` architectures drawn uniformly over the valid encodings, by rejection.

        That is far from uniform over cells: small cells have many encodings. `depth_uniform` changes nothing here.
        """
        drawn = [np.zeros((0, len(self.choices)), dtype=np.int8)]
        while (missing := n - sum(map(len, drawn))) > 0:
            archs = rng.integers(self.radices, size=(missing + missing // 2 + 16, len(self.choices))).astype(np.int8)
            drawn.append(archs[is_valid(archs, self.vertices)][:missing])
        return np.concatenate(drawn)

    # --- one cell, many encodings -------------------------------------------------------------------------------------

    def canonical(self, arch: Arch) -> Arch:
        """The encoding of the same cell that the benchmark trained: the first in the order of its graph generator.

        Unused vertices go (their genes are 0); among all orders of the others the one whose edges, read column by
        column as a binary number, are least; then the least operations.
        """
        edges, labels = divmod(int(self.keys(np.array([arch]))[0]), labellings(self.vertices))
        ops: list[int] = []
        for _ in range(self.vertices - 2):
            labels, op = divmod(labels, len(OPERATIONS))
            ops.insert(0, op)
        return (*(edges >> column_major(i, j) & 1 for i, j in edges_of(self.vertices)), *ops)

    def keys(self, archs: Archs | Ints) -> Ints:
        """An integer for each row of `archs`, the same for all encodings of one cell and no other."""
        numbers = np.zeros(len(archs), dtype=np.int64)
        for start in range(0, len(archs), CHUNK):
            rows = slice(start, start + CHUNK)
            numbers[rows] = (strip(archs[rows], self.vertices) @ relabellings(self.vertices)).min(axis=1)
        return numbers

    def hash_of(self, arch: Arch) -> str:
        """The fingerprint under which the benchmark files the cell."""
        matrix, ops = self.decode(arch)
        last = len(matrix) - 1
        fans_in = [[w for w in range(last + 1) if matrix[w][v]] for v in range(last + 1)]
        fans_out = [[w for w in range(last + 1) if matrix[v][w]] for v in range(last + 1)]
        labels = [-1, *(OPERATIONS.index(op) for op in ops[1:-1]), -2]
        hashes = [_md5(str((len(fans_out[v]), len(fans_in[v]), labels[v]))) for v in range(last + 1)]
        for _ in matrix:
            around = [
                ["".join(sorted(hashes[w] for w in fan)) for fan in (fans_in[v], fans_out[v])] for v in range(last + 1)
            ]
            hashes = [_md5("|".join((*slice_sides, own))) for slice_sides, own in zip(around, hashes, strict=True)]
        return _md5(str(sorted(hashes)))

    # --- notation -----------------------------------------------------------------------------------------------------

    def encode(self, matrix: Matrix, ops: Sequence[str]) -> Arch:
        """The architecture of a cell in the form of the benchmark's files; `ops` may leave out `input` and `output`.

        There may be fewer vertices than in the space, or more if those that do not count make up the difference.
        """
        try:
            cells = np.array(matrix, dtype=np.float64)
        except (TypeError, ValueError):  # ragged, or not of numbers
            cells = np.zeros(0)
        size = len(cells)
        if cells.shape != (size, size) or size < 2 or not np.isin(cells, (0, 1)).all() or np.tril(cells).any():
            got = " ".join(str(matrix).split())
            raise ArchError(f"nasbench101: the matrix must be square, with 0 or 1 above the diagonal only, got {got}")
        inner = list(ops[1:-1] if len(ops) == size else ops)
        if len(inner) != size - 2:
            raise ArchError(f"nasbench101: a matrix of {size} vertices needs {size - 2} operations, got {len(inner)}")
        labels = np.array([0, *(_operation(op) for op in inner), 0])
        if size > self.vertices:
            kept = on_path(cells[None].astype(bool))[0]
            cells, labels = cells[kept][:, kept], labels[kept]
            size = len(cells)
            if not 2 <= size <= self.vertices:
                rule = f"2 to {self.vertices} vertices may lie on paths from input to output"
                raise ArchError(f"nasbench101: {rule}, got {size}")
        # The output becomes the last vertex; those left out before it have no edges.
        place = [*range(size - 1), self.vertices - 1]
        full = np.zeros((self.vertices, self.vertices), dtype=np.int64)
        full[np.ix_(place, place)] = cells
        spare = [0] * (self.vertices - size)
        return self.check([*(full[e] for e in edges_of(self.vertices)), *labels[1:-1], *spare])

    def decode(self, arch: Arch) -> tuple[list[list[int]], list[str]]:
        """Matrix and operations in the form of the benchmark's files: without the vertices that do not count."""
        matrix = matrices_of(np.array([arch]), self.vertices)
        kept = np.flatnonzero(on_path(matrix)[0])
        ops = [OPERATIONS[arch[v - self.vertices + 1]] for v in kept[1:-1]]
        return matrix[0][np.ix_(kept, kept)].astype(int).tolist(), ["input", *ops, "output"]

    @cached_property
    def named(self) -> Mapping[str, Arch]:
        """The five cells of paper 000 and the benchmark's own example, in canonical form."""
        fitting = {n: text for n, text in CELLS.items() if len(text.split()[0]) <= self.vertices}
        return {n: self.canonical(self._read(text)) for n, text in fitting.items()}

    def format(self, arch: Arch) -> str:
        """The rows of the matrix, then the operations: `0100000 ... 0000000; c1 c3 c1 mp mp`."""
        rows = matrices_of(np.array([arch]), self.vertices)[0].astype(int)
        ops = [SHORT[g] for g in arch[len(edges_of(self.vertices)) :]]
        return " ".join("".join(map(str, row)) for row in rows) + "; " + " ".join(ops)

    def _parse(self, text: str) -> Arch | None:
        if re.fullmatch(r"[0-9a-f]{32}", text):
            hashes = {self.hash_of(arch): arch for arch in self.named.values()}
            if text not in hashes:
                raise UnknownNameError("hash among the named cells", text, hashes)
            return hashes[text]
        return self._read(text) if re.fullmatch(r"[01]+(\s+[01]+)+\s*(;.*)?", text) else None

    def _read(self, text: str) -> Arch:
        rows, _, ops = text.partition(";")
        matrix = [[int(bit) for bit in row] for row in rows.split()]
        if matrix[-1] == [0]:  # the last row is always empty
            matrix[-1] = [0] * len(matrix[0])
        return self.encode(matrix, ops.split())

    # --- the network --------------------------------------------------------------------------------------------------

    def blueprint(self, arch: Arch) -> Blueprint:
        """The network that the benchmark trained for this cell."""
        matrix, ops = self.decode(self.canonical(self.check(arch)))
        return self._network(lambda site, source: _cell(site, source, matrix, ops))

    def layers(self) -> Sequence[Layer]:
        """All convolutions of any cell, each as wide as it ever is: what a supernet must hold."""
        return self._network(self._widest).layers

    def _widest(self, site: Site, source: str) -> list[Layer]:
        c, resolution = site.c_out, site.resolution
        inner = range(1, self.vertices - 1)
        kernels = [kernel for kind, kernel in KINDS.values() if kind == "conv"]
        return [
            *(
                Layer(f"{site.name}.v{v}", "conv", c, c, resolution, resolution, k, stage=site.stage)
                for v in inner
                for k in kernels
            ),
            *(_projection(site, source, f"project{v}") for v in inner),
            _projection(site, source),
        ]


@dataclass(frozen=True)
class NASBench101Chain(Skeleton, SequentialSpace):
    """Cells that are chains of up to five convolutions: 3^5 encodings of 63 cells of NAS-Bench-101."""

    stabiliser: str = ""  # in supernets: a linear map in place of skips

    name: ClassVar[str] = "nasbench101-chain"
    paper: ClassVar[str] = "004"
    sharing: ClassVar[str] = "cell"
    is_chain: ClassVar[bool] = False  # the network is one, but a gene speaks for a node in every cell

    NODES: ClassVar[int] = 5
    OPTIONS: ClassVar[tuple[str, ...]] = ("1x1", "3x3", "skip")

    def __post_init__(self) -> None:
        require_stabiliser(self.stabiliser)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """One gene per node."""
        return tuple(Choice(f"node{i}", self.OPTIONS) for i in range(self.NODES))

    @property
    def named(self) -> Mapping[str, Arch]:
        """The extremes."""
        return {f"all-{op}": (g,) * self.NODES for g, op in enumerate(self.OPTIONS)}

    def canonical(self, arch: Arch) -> Arch:
        """Skips move to the end."""
        return tuple(sorted(arch, key=lambda g: self.OPTIONS[g] == "skip"))

    def to_cell(self, arch: Arch) -> Arch:
        """The same cell as an architecture of `NASBench101`."""
        ops = [f"conv{self.OPTIONS[g]}-bn-relu" for g in arch if self.OPTIONS[g] != "skip"]
        return NASBench101().encode(np.eye(len(ops) + 2, k=1, dtype=int).tolist(), ops)

    def format(self, arch: Arch) -> str:
        """The operations in order: `1x1-3x3-skip-1x1-skip`."""
        return "-".join(self.OPTIONS[g] for g in arch)

    def _parse(self, text: str) -> Arch | None:
        names = re.split(r"[-\s]+", text)
        if len(names) != self.NODES:
            return None
        for name in names:
            if name not in self.OPTIONS:
                raise UnknownNameError("operation", name, self.OPTIONS)
        return tuple(self.OPTIONS.index(n) for n in names)

    def start(self) -> tuple[Sequence[Layer], None]:
        """What does not depend on the architecture, the projection at the head of each cell included."""
        return self._network(lambda site, source: [_projection(site, source)]).layers, None

    def step(self, i: int, state: None, genes: Arch) -> tuple[Sequence[Layer], None]:
        """One node, in every cell."""
        return [self._node(site, i, genes[0]) for site in self._sites()], None

    def finish(self, state: None) -> Sequence[Layer]:
        """Nothing: the head is among the fixed layers."""
        return ()

    def blueprint(self, arch: Arch) -> Blueprint:
        """In each cell the projection, then the nodes."""
        return self._network(
            lambda site, source: [_projection(site, source), *(self._node(site, i, g) for i, g in enumerate(arch))]
        )

    def _node(self, site: Site, i: int, gene: int) -> Layer:
        kind, kernel, act = (("conv", 1, "relu"), ("conv", 3, "relu"), ("skip", 1, ""))[gene]
        c, resolution = site.c_out, site.resolution
        layer = Layer(f"{site.name}.node{i}", kind, c, c, resolution, resolution, kernel, act=act, stage=site.stage)
        return stabilise(layer, self.stabiliser) if kind == "skip" and self.stabiliser else layer


def _operation(name: str) -> int:
    if name in SHORT:
        return SHORT.index(name)
    if name in OPERATIONS:
        return OPERATIONS.index(name)
    raise UnknownNameError("operation", name, OPERATIONS + SHORT)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


# --- cells as layers --------------------------------------------------------------------------------------------------


def vertex_channels(matrix: Matrix, c_in: int, c_out: int) -> list[int]:
    """Width of each vertex: those that feed the output share `c_out`, the others are as wide as their widest reader.

    The first ones get one channel more where `c_out` does not divide evenly.
    """
    last = len(matrix) - 1
    feeds = [v for v in range(1, last) if matrix[v][last]]
    widths = [c_in] + [0] * (last - 1) + [c_out]
    for n, v in enumerate(feeds):
        widths[v] = c_out // len(feeds) + (n < c_out % len(feeds))
    for v in range(last - 1, 0, -1):
        if not matrix[v][last]:
            widths[v] = max(widths[w] for w in range(v + 1, last) if matrix[v][w])
    return widths


def _projection(site: Site, source: str, to: str = "project", width: int = 0) -> Layer:
    """The cell's input as a vertex (by default: the cell's output) reads it."""
    c = width or site.c_out
    name = f"{site.name}.{to}"
    return Layer(
        name, "conv", site.c_in, c, site.resolution, site.resolution, act="relu", inputs=(source,), stage=site.stage
    )


def _cell(site: Site, source: str, matrix: Matrix, ops: Sequence[str]) -> list[Layer]:
    """The layers of a cell without useless vertices; the last of them is its output."""
    last = len(matrix) - 1
    widths = vertex_channels(matrix, site.c_in, site.c_out)
    layers: dict[str, Layer] = {}

    def add(name: str, kind: str, kernel: int, inputs: Sequence[str], c: int, join: str = "sum") -> str:
        read = [layers[n].c_out for n in inputs]
        layers[f"{site.name}.{name}"] = Layer(
            f"{site.name}.{name}", kind, sum(read) if join == "concat" else max(read), c,
            site.resolution, site.resolution, kernel,
            act="relu" if kind == "conv" else "", inputs=tuple(inputs), join=join, stage=site.stage,
        )  # fmt: skip
        return f"{site.name}.{name}"

    def project(name: str, c: int) -> str:
        layer = _projection(site, source, name, c)
        layers[layer.name] = layer
        return layer.name

    for v in range(1, last):
        inputs = [f"{site.name}.v{w}" for w in range(1, v) if matrix[w][v]]
        if matrix[0][v]:
            inputs.append(project(f"project{v}", widths[v]))
        if len(inputs) > 1 or layers[inputs[0]].c_out > widths[v]:  # a join also cuts a channel that is too many
            inputs = [add(f"sum{v}", "join", 1, inputs, widths[v])]
        add(f"v{v}", *KINDS[ops[v]], inputs, widths[v])
    outputs = [f"{site.name}.v{v}" for v in range(1, last) if matrix[v][last]]
    if len(outputs) > 1:
        outputs = [add("concat", "join", 1, outputs, site.c_out, join="concat")]
    if matrix[0][last]:
        outputs.append(project("project", site.c_out))
    if len(outputs) > 1:
        add("sum", "join", 1, outputs, site.c_out)
    return list(layers.values())
