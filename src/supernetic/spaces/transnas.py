"""TransNAS-Bench-101, micro: cells of four nodes and six edges, in a deeper and wider network than NAS-Bench-201's.

Paper: Duan et al., "TransNAS-Bench-101: Improving Transferability and Generalizability of Cross-Task Neural
Architecture Search", arXiv 2105.11871, section 3.1.
Differences: a skip that halves the map is a 1x1 convolution with stride 2. The benchmark's reads two grids of pixels,
each for half of the channels; it has the same weights and costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

from ..blueprint import Blueprint, Layer, halved
from ..errors import InputError
from ..space import Arch, Choice, SequentialSpace
from .nasbench201 import EDGES

OPERATIONS = ("zero", "skip", "conv_1x1", "conv_3x3")  # digits of the published string
HALVING_MODULES = (True, False, True, False, True)  # those halve the map and double the channels


class _Cell(NamedTuple):
    number: int
    module: int
    c_in: int
    channels: int
    resolution_in: int
    resolution: int


@dataclass(frozen=True)
class TransNASMicro(SequentialSpace):
    """TransNAS-Bench-101's cells; by default with the network of the benchmark for object classification."""

    cells: int = 2  # per module; there are five modules
    channels: int = 64  # behind the stem; modules have 2, 2, 4, 4 and 8 times as many
    resolution: int = 256
    classes: int = 63
    in_channels: int = 3

    name: ClassVar[str] = "transnas-micro"
    paper: ClassVar[str] = "TransNAS-Bench-101"
    sharing: ClassVar[str] = "cell"
    is_chain: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 1 <= self.cells <= 100:
            raise InputError(f"transnas-micro: cells must lie in 1..100, got {self.cells}")
        if self.channels < 2:
            raise InputError(f"transnas-micro: channels must be at least 2, got {self.channels}")

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """One gene per edge."""
        return tuple(Choice(f"{i}->{j}", OPERATIONS) for i, j in EDGES)

    @property
    def named(self) -> Mapping[str, Arch]:
        """The cells with the same operation on every edge."""
        return {"all-conv-3x3": (3,) * 6, "all-skip-edges": (1,) * 6}

    def format(self, arch: Arch) -> str:
        """Write `3_33_333`: the operations into each node, as in the files of the benchmark."""
        digits = "".join(map(str, arch))
        return f"{digits[0]}_{digits[1:3]}_{digits[3:]}"

    def _parse(self, text: str) -> Arch | None:
        nodes = text.split("_")
        if [len(n) for n in nodes] != [1, 2, 3] or not all(n.isdigit() for n in nodes):
            return None
        return tuple(int(digit) for digit in "".join(nodes))

    # --- the network --------------------------------------------------------------------------------------------------

    def start(self) -> tuple[Sequence[Layer], None]:
        """Return the layers that do not depend on the architecture: stem, nodes and head."""
        return self._skeleton(), None

    def step(self, i: int, state: None, genes: Arch) -> tuple[Sequence[Layer], None]:
        """Return one edge, in every cell."""
        return [self._edge(cell, i, OPERATIONS[genes[0]]) for cell in self._cells()], None

    def finish(self, state: None) -> Sequence[Layer]:
        """Return no layers: the head is among the fixed ones."""
        return ()

    def blueprint(self, arch: Arch) -> Blueprint:
        """Return the network: stem, five modules of cells, pooling, classifier."""
        layers = {layer.name: layer for layer in self._skeleton()}
        for cell in self._cells():
            for e, gene in enumerate(arch):
                edge = self._edge(cell, e, OPERATIONS[gene])
                layers[edge.name] = edge
        return Blueprint(tuple(layers[name] for name in self._order()))

    def _cells(self) -> Iterator[_Cell]:
        channels, resolution = self.channels, halved(halved(self.resolution, 2), 2)
        for module, halves in enumerate(HALVING_MODULES):
            for c in range(self.cells):
                before = channels, resolution
                if halves and not c:
                    channels, resolution = 2 * channels, halved(resolution, 2)
                yield _Cell(module * self.cells + c, module, before[0], channels, before[1], resolution)

    def _order(self) -> Iterator[str]:
        yield from ("stem1", "stem2")
        for cell in self._cells():
            for node in (1, 2, 3):
                yield from (f"cell{cell.number}.{i}to{j}" for i, j in EDGES if j == node)
                yield f"cell{cell.number}.node{node}"
        yield from ("head.pool", "classifier")

    def _edge(self, cell: _Cell, edge: int, op: str) -> Layer:
        i, j = EDGES[edge]
        before = f"cell{cell.number - 1}.node3" if cell.number else "stem2"
        c_in, resolution = (cell.channels, cell.resolution) if i else (cell.c_in, cell.resolution_in)
        halves = c_in != cell.channels  # a map of one pixel stays one
        kind, kernel = {
            "zero": ("zero", 1),
            "skip": ("skip", 1),
            "conv_1x1": ("preconv", 1),
            "conv_3x3": ("preconv", 3),
        }[op]
        return Layer(
            f"cell{cell.number}.{i}to{j}", "preconv" if kind == "skip" and halves else kind, c_in, cell.channels,
            resolution, cell.resolution, kernel, 2 if halves else 1,
            inputs=(f"cell{cell.number}.node{i}" if i else before,), stage=cell.module + 1,
        )  # fmt: skip

    def _skeleton(self) -> list[Layer]:
        half, quarter = halved(self.resolution, 2), halved(halved(self.resolution, 2), 2)
        layers = [
            Layer("stem1", "conv", self.in_channels, self.channels // 2, self.resolution, half, 3, 2),
            Layer("stem2", "preconv", self.channels // 2, self.channels, half, quarter, 3, 2),
        ]
        for cell in self._cells():
            for node in (1, 2, 3):
                inputs = tuple(f"cell{cell.number}.{i}to{j}" for i, j in EDGES if j == node)
                name = f"cell{cell.number}.node{node}"
                shape = cell.channels, cell.channels, cell.resolution, cell.resolution
                layers.append(Layer(name, "join", *shape, inputs=inputs, stage=cell.module + 1))
        last = layers[-1]
        return [
            *layers,
            Layer("head.pool", "gap", last.c_out, last.c_out, last.resolution, 1),
            Layer("classifier", "linear", last.c_out, self.classes, 1, 1),
        ]
