"""NAS-Bench-Macro: eight layers, each identity or one of two inverted bottlenecks, every network trained.

Paper: Su et al., "Prioritized Architecture Sampling with Monto-Carlo Tree Search", arXiv 2103.11922; the ground truth
here for the skip-and-MBConv spaces of SCARLET-NAS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..blueprint import Layer, halved
from ..space import Arch, Choice, SequentialSpace
from ..stabiliser import require_stabiliser, stabilise

LAYERS_PER_STAGE = (2, 3, 3)  # the first of each stage is strided and doubles the channels
OPTIONS = ("Identity", "MB3_K3", "MB6_K5")


@dataclass(frozen=True)
class Macro(SequentialSpace):
    """NAS-Bench-Macro's space: 3^8 encodings of 3,969 distinct networks, because identities inside a stage commute."""

    channels: int = 32  # of the stem; stages have 2, 4 and 8 times as many
    resolution: int = 32
    classes: int = 10
    in_channels: int = 3
    head: int = 1280
    stabiliser: str = ""  # in supernets: a linear map that replaces identities

    name: ClassVar[str] = "macro"
    paper: ClassVar[str] = "NAS-Bench-Macro"
    sharing: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        require_stabiliser(self.stabiliser)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """One gene per layer."""
        return tuple(Choice(f"layer{i}", OPTIONS) for i in range(sum(LAYERS_PER_STAGE)))

    @property
    def named(self) -> Mapping[str, Arch]:
        """The best network of the benchmark."""
        return {"macro-best": (2, 2, 2, 1, 2, 2, 0, 2)}

    def canonical(self, arch: Arch) -> Arch:
        """Move identities, except the first layer of a stage, to the end of their stage."""
        genes: list[int] = []
        for n in LAYERS_PER_STAGE:
            first, *rest = arch[len(genes) : len(genes) + n]
            blocks = [g for g in rest if g]
            genes += [first, *blocks, *[0] * (len(rest) - len(blocks))]
        return tuple(genes)

    def format(self, arch: Arch) -> str:
        """Write eight digits, as in the files of the benchmark."""
        return "".join(str(g) for g in arch)

    def _parse(self, text: str) -> Arch | None:
        digits = text.isascii() and text.isdigit() and len(text) == sum(LAYERS_PER_STAGE)
        return tuple(int(t) for t in text) if digits else None

    def start(self) -> tuple[Sequence[Layer], tuple[int, int]]:
        """Return the stem; the state is (channels, resolution)."""
        stem = Layer("stem", "conv", self.in_channels, self.channels, self.resolution, self.resolution, 3, act="relu")
        return [stem], (self.channels, self.resolution)

    def step(self, i: int, state: tuple[int, int], genes: Arch) -> tuple[Sequence[Layer], tuple[int, int]]:
        """Return one layer. Identity is a strided 1x1 convolution where it opens a stage, a skip elsewhere."""
        c_in, resolution = state
        stage, opens = _stage_of(i)
        stride = 2 if opens else 1
        c_out, out = c_in * stride, halved(resolution, stride)
        name = f"layer{i}"
        if genes[0]:
            e, k = ((3, 3), (6, 5))[genes[0] - 1]
            layer = Layer(
                name, "mbconv", c_in, c_out, resolution, out, k, stride, e, c_in * e,
                act="relu", shortcut="" if opens else "identity", stage=stage,
            )  # fmt: skip
        elif opens:
            layer = Layer(name, "conv", c_in, c_out, resolution, out, 1, 2, stage=stage)
        else:
            layer = Layer(name, "skip", c_in, c_out, resolution, out, stage=stage)
            layer = stabilise(layer, self.stabiliser) if self.stabiliser else layer
        return [layer], (c_out, out)

    def finish(self, state: tuple[int, int]) -> Sequence[Layer]:
        """Return 1x1 convolution, pooling and classifier."""
        channels, resolution = state
        return [
            Layer("head.conv", "conv", channels, self.head, resolution, resolution, act="relu"),
            Layer("head.pool", "gap", self.head, self.head, resolution, 1),
            Layer("classifier", "linear", self.head, self.classes, 1, 1),
        ]


def _stage_of(i: int) -> tuple[int, bool]:
    """Return the stage of layer `i`, counted from 1, and whether the layer opens it."""
    for stage, n in enumerate(LAYERS_PER_STAGE, 1):
        if i < n:
            return stage, i == 0
        i -= n
    raise IndexError(i)
