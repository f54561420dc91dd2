"""NAS-Bench-201: cells of four nodes and six edges, one operation on each edge.

Paper: Dong & Yang, "NAS-Bench-201", arXiv 2001.00326; studied in "Single-path ranking correlations".
Differences: node inputs are summed as in the reference code; "Single-path ranking correlations" says that it averages
them (`aggregate="mean"`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..blueprint import Blueprint, Layer, halved
from ..errors import InputError, UnknownNameError
from ..space import Arch, Choice, SequentialSpace
from ..stabiliser import STABILISER_KINDS, require_stabiliser, stabilise

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))  # from node, to node; in the order of the published string


@dataclass(frozen=True)
class NASBench201(SequentialSpace):
    """NAS-Bench-201's space of cells; by default with the network of the benchmark.

    The small network of "Single-path ranking correlations" is `cells=2, channels=32`.
    """

    without: tuple[str, ...] = ()  # masked operations
    cells: int = 5  # per stage; there are three stages
    channels: int = 16
    resolution: int = 32
    classes: int = 10
    in_channels: int = 3
    aggregate: str = "sum"
    affine: bool = True
    share_cells: bool = True  # False: one set of genes per cell, for training only
    stabiliser: str = ""  # in supernets: a linear map that replaces skips, and may follow pools

    name: ClassVar[str] = "nasbench201"
    paper: ClassVar[str] = "NAS-Bench-201"
    sharing: ClassVar[str] = "cell"
    is_chain: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_stabiliser(self.stabiliser, STABILISER_KINDS)
        for op in self.without:
            if op not in OPERATIONS:
                raise UnknownNameError("operation", op, OPERATIONS)
        if not 1 <= self.cells <= 100:
            raise InputError(f"nasbench201: cells must lie in 1..100, got {self.cells}")
        if not self.operations:
            raise InputError("nasbench201: at least one operation must be left, got without=" + "+".join(self.without))

    @cached_property
    def operations(self) -> tuple[str, ...]:
        """The operations that are not masked; genes are positions in this list."""
        return tuple(op for op in OPERATIONS if op not in self.without)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """One gene per edge (and per cell, unless cells are shared)."""
        prefixes = [""] if self.share_cells else [f"cell{c}." for c in range(3 * self.cells)]
        return tuple(Choice(f"{p}{i}->{j}", self.operations) for p in prefixes for i, j in EDGES)

    def tile(self, arch: Arch) -> Arch:
        """Return a shared cell as an architecture of the space with one set of genes per cell."""
        return arch * (3 * self.cells)

    # --- notation -----------------------------------------------------------------------------------------------------

    def format(self, arch: Arch) -> str:
        """Write `|op~0|+|op~0|op~1|+|op~0|op~1|op~2|`, with cells separated by blanks."""
        cells = []
        for start in range(0, len(arch), len(EDGES)):
            nodes: dict[int, str] = {}
            for gene, (i, j) in zip(arch[start : start + len(EDGES)], EDGES, strict=True):
                nodes[j] = nodes.get(j, "|") + f"{self.operations[gene]}~{i}|"
            cells.append("+".join(nodes.values()))
        return " ".join(cells)

    def _parse(self, text: str) -> Arch | None:
        genes: list[int] = []
        for cell in text.split():
            tokens = [t for node in cell.split("+") for t in node.split("|") if t]
            if len(tokens) != len(EDGES) or not cell.startswith("|"):
                return None
            for token, (i, _) in zip(tokens, EDGES, strict=True):
                op, _, source = token.partition("~")
                if source != str(i):
                    return None
                if op not in self.operations:
                    raise UnknownNameError("operation", op, self.operations)
                genes.append(self.operations.index(op))
        return tuple(genes) if genes else None

    @property
    def named(self) -> Mapping[str, Arch]:
        """The cells with the same operation on every edge."""
        if not self.share_cells:
            return {}
        short = {"nor_conv_3x3": "all-conv3x3", "none": "all-none", "skip_connect": "all-skip"}
        return {n: (self.operations.index(op),) * 6 for op, n in short.items() if op in self.operations}

    # --- the network --------------------------------------------------------------------------------------------------

    def _cells(self) -> Iterator[tuple[int, int, int]]:
        """Yield (number, channels, resolution) of each cell."""
        resolution = self.resolution
        for stage in range(3):
            for c in range(self.cells):
                yield stage * self.cells + c, self.channels << stage, resolution
            resolution = halved(resolution, 2)

    def start(self) -> tuple[Sequence[Layer], None]:
        """Return the layers that do not depend on the architecture: stem, reductions and head."""
        return self._skeleton(), None

    def step(self, i: int, state: None, genes: Arch) -> tuple[Sequence[Layer], None]:
        """Return one edge, in every cell that shares it."""
        cell, edge = divmod(i, len(EDGES))
        cells = self._cells() if self.share_cells else (c for c in self._cells() if c[0] == cell)
        return [layer for c in cells for layer in self._edge(*c, edge, self.operations[genes[0]])], None

    def finish(self, state: None) -> Sequence[Layer]:
        """Return no layers: the head is among the fixed ones."""
        return ()

    def blueprint(self, arch: Arch) -> Blueprint:
        """Return the network: stem, stages of cells with a residual reduction between them, BN, pooling, classifier.

        One set of genes stands for all cells, even if each cell may have its own.
        """
        arch = self.tile(arch) if len(arch) == len(EDGES) else arch
        layers = {layer.name: [layer] for layer in self._skeleton()}
        for cell, channels, resolution in self._cells():
            for e in range(len(EDGES)):
                op = self.operations[arch[cell * len(EDGES) + e]]
                edge = self._edge(cell, channels, resolution, e, op)
                layers[edge[-1].name] = edge
        return Blueprint(tuple(layer for name in self._order() for layer in layers[name]))

    def _order(self) -> Iterator[str]:
        yield "stem"
        for cell, _, _ in self._cells():
            if cell and cell % self.cells == 0:
                yield f"reduce{cell // self.cells}"
            for node in (1, 2, 3):
                yield from (f"cell{cell}.{i}to{j}" for i, j in EDGES if j == node)
                yield f"cell{cell}.node{node}"
        yield from ("head.norm", "head.pool", "classifier")

    def _input(self, cell: int) -> str:
        """Return the name of the layer that a cell reads."""
        if cell and cell % self.cells == 0:
            return f"reduce{cell // self.cells}"
        return f"cell{cell - 1}.node3" if cell else "stem"

    def _edge(self, cell: int, channels: int, resolution: int, edge: int, op: str) -> list[Layer]:
        i, j = EDGES[edge]
        source = f"cell{cell}.node{i}" if i else self._input(cell)
        kind, kernel = {
            "none": ("zero", 1),
            "skip_connect": ("skip", 1),
            "nor_conv_1x1": ("preconv", 1),
            "nor_conv_3x3": ("preconv", 3),
            "avg_pool_3x3": ("avgpool", 3),
        }[op]
        layer = Layer(
            f"cell{cell}.{i}to{j}", kind, channels, channels, resolution, resolution, kernel,
            norm=self.affine, inputs=(source,), stage=cell // self.cells + 1,
        )  # fmt: skip
        if kind == "skip" and self.stabiliser:
            return [stabilise(layer, self.stabiliser)]
        if kind == "avgpool" and self.stabiliser == "skip+pool":
            pool = layer._replace(name=f"{layer.name}.pool")
            return [pool, stabilise(layer._replace(inputs=(pool.name,)), self.stabiliser)]
        return [layer]

    def _skeleton(self) -> list[Layer]:
        stem = Layer("stem", "conv", self.in_channels, self.channels, self.resolution, self.resolution, 3)
        layers, last = [stem], stem
        for cell, channels, resolution in self._cells():
            stage = cell // self.cells + 1
            if cell and cell % self.cells == 0:
                name, source = f"reduce{stage - 1}", f"cell{cell - 1}.node3"
                layers.append(
                    Layer(name, "reduce", last.c_out, channels, last.resolution_out, resolution, 3, 2, inputs=(source,))
                )
            for node in (1, 2, 3):
                inputs = tuple(f"cell{cell}.{i}to{j}" for i, j in EDGES if j == node)
                last = Layer(
                    f"cell{cell}.node{node}", "join", channels, channels, resolution, resolution,
                    inputs=inputs, join=self.aggregate, stage=stage,
                )  # fmt: skip
                layers.append(last)
        c, resolution = last.c_out, last.resolution
        return [
            *layers,
            Layer("head.norm", "norm", c, c, resolution, resolution, act="relu"),
            Layer("head.pool", "gap", c, c, resolution, 1),
            Layer("classifier", "linear", c, self.classes, 1, 1),
        ]
