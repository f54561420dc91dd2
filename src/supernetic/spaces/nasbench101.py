"""NAS-Bench-101: cells that are any small graph of three operations; and SCARLET's subspace of chains.

Paper: Ying et al., "NAS-Bench-101", arXiv 1902.09635; five of its cells are studied in "Small Data, Big Decisions", the
chains in "SCARLET-NAS", section 6.2.
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
    CELLS_PER_CHUNK,
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

SHORT_NAMES = ("c3", "c1", "mp")  # of `OPERATIONS`, in the notation
LAYER_KINDS = {"conv3x3-bn-relu": ("conv", 3), "conv1x1-bn-relu": ("conv", 1), "maxpool3x3": ("maxpool", 3)}
VALID_MATRICES = 1_538_083  # of seven vertices; `count_matrices` would take a second
UNIQUE_CELLS = 423_624  # different cells among all encodings of seven vertices

NAMED_CELLS = {
    "small-data-1": "0100000 0011000 0001100 0000011 0000010 0000001 0; c1 c3 c1 mp mp",
    "small-data-2": "0100001 0010000 0001101 0000001 0000010 0000001 0; mp mp c3 mp c3",
    "small-data-3": "0100011 0011000 0000001 0000100 0000010 0000001 0; mp c3 c3 mp mp",
    "small-data-4": "0101000 0010010 0001001 0000100 0000010 0000001 0; c3 c1 c1 c1 c3",
    "small-data-5": "011111 000010 000100 000010 000001 0; c3 c3 c3 c3",
    "inception": "0111010 0000001 0000001 0000100 0000001 0000001 0; c1 c3 c3 c3 mp",  # the benchmark's own example
}

Matrix = Sequence[Sequence[int]]  # 1 where an edge leads from the row's vertex to the column's


class Site(NamedTuple):
    """The position of one cell in the network."""

    name: str
    c_in: int
    c_out: int
    resolution: int
    stage: int
    opens: bool  # whether it is the first of its stack


@dataclass(frozen=True)
class Skeleton:
    """The network around the cells: stem, stacks of cells with a pooling between them, classifier."""

    channels: int = 128  # of the first stack; each of the next has twice as many
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
        """Return the whole network; `cell(site, source)` gives the layers of a cell that reads the layer `source`."""
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
    """NAS-Bench-101's space of cells.

    Vertex 0 is the input of the cell, the last vertex its output; every vertex between them has an operation. An
    encoding lists the edges (upper triangle, row by row), then the operations. Vertices on no path from input to output
    do not count, nor do their edges; at most nine edges may count. `sample` is uniform over encodings, not over cells.
    """

    vertices: int = 7  # at most, including input and output

    name: ClassVar[str] = "nasbench101"
    paper: ClassVar[str] = "NAS-Bench-101"
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
        """One gene per possible edge, and one per vertex between input and output."""
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
        """Draw architectures uniformly over the valid encodings, by rejection.

        That is far from uniform over cells: small cells have many encodings. `depth_uniform` has no effect here.
        """
        drawn = [np.zeros((0, len(self.choices)), dtype=np.int8)]
        while (missing := n - sum(map(len, drawn))) > 0:
            archs = rng.integers(self.radices, size=(missing + missing // 2 + 16, len(self.choices))).astype(np.int8)
            drawn.append(archs[is_valid(archs, self.vertices)][:missing])
        return np.concatenate(drawn)

    # --- one cell, many encodings -------------------------------------------------------------------------------------

    def canonical(self, arch: Arch) -> Arch:
        """Return the encoding of the same cell that the benchmark trained: the first that its graph generator gives.

        Genes of unused vertices are 0. Among all orders of the other vertices it is the one whose edges, read column by
        column as a binary number, are least; then the one with the least operations.
        """
        edges, labels = divmod(int(self.keys(np.array([arch]))[0]), labellings(self.vertices))
        ops: list[int] = []
        for _ in range(self.vertices - 2):
            labels, op = divmod(labels, len(OPERATIONS))
            ops.insert(0, op)
        return (*(edges >> column_major(i, j) & 1 for i, j in edges_of(self.vertices)), *ops)

    def keys(self, archs: Archs | Ints) -> Ints:
        """Return an integer for each row of `archs`: the same for all encodings of a cell, different for all others."""
        numbers = np.zeros(len(archs), dtype=np.int64)
        for start in range(0, len(archs), CELLS_PER_CHUNK):
            rows = slice(start, start + CELLS_PER_CHUNK)
            numbers[rows] = (strip(archs[rows], self.vertices) @ relabellings(self.vertices)).min(axis=1)
        return numbers

    def hash_of(self, arch: Arch) -> str:
        """Return the hash by which the benchmark identifies the cell."""
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
            hashes = [_md5("|".join((*neighbours, own))) for neighbours, own in zip(around, hashes, strict=True)]
        return _md5(str(sorted(hashes)))

    # --- notation -----------------------------------------------------------------------------------------------------

    def encode(self, matrix: Matrix, ops: Sequence[str]) -> Arch:
        """Return the architecture of a cell given as in the files of the benchmark.

        Args:
            matrix: Upper triangular adjacency matrix. It may have fewer vertices than the space, or more if the
                vertices that count are few enough.
            ops: Operation of each vertex, with or without `input` and `output`.
        """
        try:
            cells = np.array(matrix, dtype=np.float64)
        except (TypeError, ValueError):  # ragged, or not of numbers
            cells = np.zeros(0)
        size = len(cells)
        if cells.shape != (size, size) or size < 2 or not np.isin(cells, (0, 1)).all() or np.tril(cells).any():
            text = " ".join(str(matrix).split())
            raise ArchError(f"nasbench101: the matrix must be square, with 0 or 1 above the diagonal only, got {text}")
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
        # The output becomes the last vertex; the unused ones before it have no edges.
        position = [*range(size - 1), self.vertices - 1]
        full = np.zeros((self.vertices, self.vertices), dtype=np.int64)
        full[np.ix_(position, position)] = cells
        spare = [0] * (self.vertices - size)
        return self.check([*(full[e] for e in edges_of(self.vertices)), *labels[1:-1], *spare])

    def decode(self, arch: Arch) -> tuple[list[list[int]], list[str]]:
        """Return matrix and operations as in the files of the benchmark: without the vertices that do not count."""
        matrix = matrices_of(np.array([arch]), self.vertices)
        kept = np.flatnonzero(on_path(matrix)[0])
        ops = [OPERATIONS[arch[v - self.vertices + 1]] for v in kept[1:-1]]
        return matrix[0][np.ix_(kept, kept)].astype(int).tolist(), ["input", *ops, "output"]

    @cached_property
    def named(self) -> Mapping[str, Arch]:
        """The five cells of "Small Data, Big Decisions" and the example of the benchmark, in canonical form."""
        fitting = {n: text for n, text in NAMED_CELLS.items() if len(text.split()[0]) <= self.vertices}
        return {n: self.canonical(self._read(text)) for n, text in fitting.items()}

    def format(self, arch: Arch) -> str:
        """Write the rows of the matrix, then the operations: `0100000 ... 0000000; c1 c3 c1 mp mp`."""
        rows = matrices_of(np.array([arch]), self.vertices)[0].astype(int)
        ops = [SHORT_NAMES[g] for g in arch[len(edges_of(self.vertices)) :]]
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
        """Return the network that the benchmark trained for this cell."""
        matrix, ops = self.decode(self.canonical(self.check(arch)))
        return self._network(lambda site, source: _cell(site, source, matrix, ops))

    def layers(self) -> Sequence[Layer]:
        """Return all convolutions of all cells, each at its largest width: what a supernet must hold."""
        return self._network(self._widest).layers

    def _widest(self, site: Site, source: str) -> list[Layer]:
        c, resolution = site.c_out, site.resolution
        inner = range(1, self.vertices - 1)
        kernels = [kernel for kind, kernel in LAYER_KINDS.values() if kind == "conv"]
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

    stabiliser: str = ""  # in supernets: a linear map that replaces skips

    name: ClassVar[str] = "nasbench101-chain"
    paper: ClassVar[str] = "SCARLET-NAS"
    sharing: ClassVar[str] = "cell"
    is_chain: ClassVar[bool] = False  # the network is one, but a gene decides a node in every cell

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
        """The cells with the same operation at every node."""
        return {f"all-{op}": (g,) * self.NODES for g, op in enumerate(self.OPTIONS)}

    def canonical(self, arch: Arch) -> Arch:
        """Move skips to the end."""
        return tuple(sorted(arch, key=lambda g: self.OPTIONS[g] == "skip"))

    def to_cell(self, arch: Arch) -> Arch:
        """Return the same cell as an architecture of `NASBench101`."""
        ops = [f"conv{self.OPTIONS[g]}-bn-relu" for g in arch if self.OPTIONS[g] != "skip"]
        return NASBench101().encode(np.eye(len(ops) + 2, k=1, dtype=int).tolist(), ops)

    def format(self, arch: Arch) -> str:
        """Write the operations in order: `1x1-3x3-skip-1x1-skip`."""
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
        """Return the layers that do not depend on the architecture, including the projection that opens each cell."""
        return self._network(lambda site, source: [_projection(site, source)]).layers, None

    def step(self, i: int, state: None, genes: Arch) -> tuple[Sequence[Layer], None]:
        """Return one node, in every cell."""
        return [self._node(site, i, genes[0]) for site in self._sites()], None

    def finish(self, state: None) -> Sequence[Layer]:
        """Return no layers: the head is among the fixed ones."""
        return ()

    def blueprint(self, arch: Arch) -> Blueprint:
        """Return the network: in each cell the projection, then the nodes."""
        return self._network(
            lambda site, source: [_projection(site, source), *(self._node(site, i, g) for i, g in enumerate(arch))]
        )

    def _node(self, site: Site, i: int, gene: int) -> Layer:
        kind, kernel, act = (("conv", 1, "relu"), ("conv", 3, "relu"), ("skip", 1, ""))[gene]
        c, resolution = site.c_out, site.resolution
        layer = Layer(f"{site.name}.node{i}", kind, c, c, resolution, resolution, kernel, act=act, stage=site.stage)
        return stabilise(layer, self.stabiliser) if kind == "skip" and self.stabiliser else layer


def _operation(name: str) -> int:
    if name in SHORT_NAMES:
        return SHORT_NAMES.index(name)
    if name in OPERATIONS:
        return OPERATIONS.index(name)
    raise UnknownNameError("operation", name, OPERATIONS + SHORT_NAMES)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


# --- cells as layers --------------------------------------------------------------------------------------------------


def vertex_channels(matrix: Matrix, c_in: int, c_out: int) -> list[int]:
    """Return the width of each vertex of a cell.

    Vertices that feed the output share `c_out`; the first of them get one channel more where it does not divide evenly.
    All others are as wide as their widest reader.
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
    """Return the projection through which a vertex (by default, the cell's output) reads the cell's input."""
    c = width or site.c_out
    name = f"{site.name}.{to}"
    return Layer(
        name, "conv", site.c_in, c, site.resolution, site.resolution, act="relu", inputs=(source,), stage=site.stage
    )


def _cell(site: Site, source: str, matrix: Matrix, ops: Sequence[str]) -> list[Layer]:
    """Return the layers of a cell without unused vertices; the last layer is its output."""
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
        if len(inputs) > 1 or layers[inputs[0]].c_out > widths[v]:  # a join also cuts off a surplus channel
            inputs = [add(f"sum{v}", "join", 1, inputs, widths[v])]
        add(f"v{v}", *LAYER_KINDS[ops[v]], inputs, widths[v])
    outputs = [f"{site.name}.v{v}" for v in range(1, last) if matrix[v][last]]
    if len(outputs) > 1:
        outputs = [add("concat", "join", 1, outputs, site.c_out, join="concat")]
    if matrix[0][last]:
        outputs.append(project("project", site.c_out))
    if len(outputs) > 1:
        add("sum", "join", 1, outputs, site.c_out)
    return list(layers.values())
