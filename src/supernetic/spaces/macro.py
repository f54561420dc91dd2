"""NAS-Bench-Macro: eight layers, each identity or one of two inverted bottlenecks, every network trained.

Paper: Su et al., "Prioritized Architecture Sampling with Monto-Carlo Tree Search", arXiv 2103.11922; the ground truth
here for the skip-and-MBConv spaces of SCARLET-NAS (paper 004).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..blueprint import Layer, halved
from ..space import Arch, Choice, SequentialSpace
from ..stabiliser import require_stabiliser, stabilise

STAGES = (2, 3, 3)  # layers per stage; the first of each is strided and doubles the channels
OPTIONS = ("Identity", "MB3_K3", "MB6_K5")


@dataclass(frozen=True)
class Macro(SequentialSpace):
    """3^8 encodings of 3,969 distinct networks: identities inside a stage commute."""

    channels: int = 32  # of the stem; stages have 2, 4 and 8 times as many
    resolution: int = 32
    classes: int = 10
    in_channels: int = 3
    head: int = 1280
    stabiliser: str = ""  # in supernets: a linear map in place of identities

    name: ClassVar[str] = "macro"
    paper: ClassVar[str] = "004"
    sharing: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        require_stabiliser(self.stabiliser)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """One gene per layer."""
        return tuple(Choice(f"layer{i}", OPTIONS) for i in range(sum(STAGES)))

    @property
    def named(self) -> Mapping[str, Arch]:
        """The benchmark's best network."""
        return {"macro-best": (2, 2, 2, 1, 2, 2, 0, 2)}

    def canonical(self, arch: Arch) -> Arch:
        """Identities that do not open their stage move to its end."""
        genes: list[int] = []
        for n in STAGES:
            first, *rest = arch[len(genes) : len(genes) + n]
            blocks = [g for g in rest if g]
            genes += [first, *blocks, *[0] * (len(rest) - len(blocks))]
        return tuple(genes)

    def format(self, arch: Arch) -> str:
        """Eight digits, as in the benchmark's files."""
        return "".join(str(g) for g in arch)

    def _parse(self, text: str) -> Arch | None:
        return tuple(int(t) for t in text) if text.isdigit() and len(text) == sum(STAGES) else None

    def start(self) -> tuple[Sequence[Layer], tuple[int, int]]:
        """The stem; the state is (channels, side)."""
        stem = Layer("stem", "conv", self.in_channels, self.channels, self.resolution, self.resolution, 3, act="relu")
        return [stem], (self.channels, self.resolution)

    def step(self, i: int, state: tuple[int, int], genes: Arch) -> tuple[Sequence[Layer], tuple[int, int]]:
        """One layer. Identity is a strided 1x1 convolution where it opens a stage, nothing elsewhere."""
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
        """1x1 convolution, pooling, classifier."""
        channels, resolution = state
        return [
            Layer("head.conv", "conv", channels, self.head, resolution, resolution, act="relu"),
            Layer("head.pool", "gap", self.head, self.head, resolution, 1),
            Layer("classifier", "linear", self.head, self.classes, 1, 1),
        ]


def _stage_of(i: int) -> tuple[int, bool]:
    """(stage from 1, whether layer `i` opens it)."""
    for stage, n in enumerate(STAGES, 1):
        if i < n:
            return stage, i == 0
        i -= n
    raise IndexError(i)
