"""EfficientNet-Lite, elastic: resolution, depths, expansions and kernels shrink from one of its networks.

Paper: Cai et al., "Once-for-all", arXiv 1908.09791, section 3; the networks are EfficientNet-Lite's (Tan & Le,
"EfficientNet", arXiv 1905.11946, without squeeze-excite and with ReLU6).
Differences: the largest network is EfficientNet-Lite in place of MobileNetV3, so that it can have weights from
ImageNet; depths reach from half of a stage's blocks to all of them; a smaller kernel is the centre of the larger one,
without a learnt transformation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, ClassVar, NamedTuple

from ..blueprint import TENSORFLOW_PADDING, Layer, halved, make_divisible
from ..space import Arch, Choice, SequentialSpace
from .efficientnet import B0_STAGES, HEAD_WIDTH, STEM_WIDTH

EPS = 1e-3  # of BN
EXPANSIONS, KERNELS = (3, 4, 6), (3, 5)  # of blocks; a block of EfficientNet-Lite has one of the latter two
RESOLUTION_SHARES = (0.6, 0.7, 0.8, 0.9)  # of the largest resolution, in multiples of 8 pixels
EVERY: Mapping[str, Any] = {"act": "relu6", "padding": TENSORFLOW_PADDING, "eps": EPS}


class Block(NamedTuple):
    """A block of the largest network, and the genes that cut it; -1 for none."""

    stage: int
    number: int  # within its stage
    kernel: int
    stride: int
    channels: int
    last: bool  # of its stage
    depth_gene: int
    expansion_gene: int
    kernel_gene: int


class MapState(NamedTuple):
    """Channels and resolution of the map; within a stage, how many blocks it has."""

    channels: int
    resolution: int
    depth: int = 0


@dataclass(frozen=True)
class Lite(SequentialSpace):
    """All networks inside of an EfficientNet-Lite.

    Genes: the resolution; then for each stage from the second its depth, and expansion and kernel of each block.
    """

    width: float = 1.0  # factor of the channels of all blocks
    depth: float = 1.0  # factor of the blocks of all stages but the first and the last
    resolution: int = 224  # the largest
    classes: int = 1000
    in_channels: int = 3

    name: ClassVar[str] = "lite"
    paper: ClassVar[str] = "Once-for-all, EfficientNet"
    sharing: ClassVar[str] = "elastic"

    @cached_property
    def resolutions(self) -> tuple[int, ...]:
        """Of the images, in pixels."""
        smaller = {max(8, round(self.resolution * share / 8) * 8) for share in RESOLUTION_SHARES}
        return (*sorted(r for r in smaller if r < self.resolution), self.resolution)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The genes; those of blocks that a smaller depth leaves out are 0."""
        return self._plan[0]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Those of the largest network, from the second stage on."""
        return self._plan[1]

    @cached_property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """The resolution; then the genes of each block, the first of a stage with the depth."""
        genes = [(-1 if b.number else b.depth_gene, b.expansion_gene, b.kernel_gene) for b in self.blocks]
        return ((0,), *(tuple(g for g in of_block if g >= 0) for of_block in genes))

    @cached_property
    def _plan(self) -> tuple[tuple[Choice, ...], tuple[Block, ...]]:
        choices, blocks = [Choice("resolution", self.resolutions)], []
        for stage, (_, kernel, first_stride, channels, number) in enumerate(B0_STAGES[1:], 2):
            most = number if stage == len(B0_STAGES) else ceil(round(number * self.depth, 6))
            depths, depth_gene = tuple(range(ceil(most / 2), most + 1)), -1
            if len(depths) > 1:
                depth_gene = len(choices)
                choices.append(Choice(f"stage{stage}.depth", depths))
            for block in range(most):
                genes = []
                for what, options in (("expansion", EXPANSIONS), ("kernel", KERNELS if kernel > KERNELS[0] else ())):
                    genes.append(len(choices) if options else -1)
                    if options and block < depths[0]:
                        choices.append(Choice(f"stage{stage}.{block}.{what}", options))
                    elif options:
                        allowed = tuple(len(options) if block < d else 1 for d in depths)
                        choices.append(Choice(f"stage{stage}.{block}.{what}", options, depth_gene, allowed))
                stride, c = 1 if block else first_stride, make_divisible(channels * self.width)
                blocks.append(Block(stage, block, kernel, stride, c, block == most - 1, depth_gene, *genes))
        return tuple(choices), tuple(blocks)

    @cached_property
    def largest(self) -> Arch:
        """EfficientNet-Lite itself."""
        return tuple(len(c.options) - 1 for c in self.choices)

    def regular(self) -> list[list[Arch]]:
        """What one would do by hand: EfficientNet-Lite at every resolution, whole or with all blocks cut alike."""
        genes = list(zip(self.choices, self.largest, strict=True))[1:]
        cut = [
            tuple(e if c.name.endswith(".expansion") else g for c, g in genes) for e in reversed(range(len(EXPANSIONS)))
        ]
        return [[(r, *rest) for r in range(len(self.resolutions))] for rest in cut]

    # --- notation -----------------------------------------------------------------------------------------------------

    def format(self, arch: Arch) -> str:
        """Write `160px | 6k3 6k3 | 4k5 | ...`: expansions and kernels of the blocks, by stage from the second."""
        values = {i: c.options[g] for i, (c, g) in enumerate(zip(self.choices, arch, strict=True))}
        stages: dict[int, list[str]] = {}
        for b in self.blocks:
            if b.number < values.get(b.depth_gene, b.number + 1):
                word = f"{values[b.expansion_gene]}k{values.get(b.kernel_gene, b.kernel)}"
                stages.setdefault(b.stage, []).append(word)
        return " | ".join([f"{values[0]}px", *map(" ".join, stages.values())])

    def _parse(self, text: str) -> Arch | None:
        pixels, *stages = (part.split() for part in text.split("|"))
        words = [w for stage in stages for w in stage]
        if len(stages) != len(B0_STAGES) - 1 or not re.fullmatch(r"[0-9]{1,5}px", " ".join(pixels)):
            return None
        if not all(re.fullmatch("[0-9]k[0-9]", w) for w in words):
            return None
        wanted = {0: int(pixels[0][:-2])}
        for b in self.blocks:
            stage = stages[b.stage - 2]
            if b.depth_gene >= 0:
                wanted[b.depth_gene] = len(stage)
            elif b.last and len(stage) != b.number + 1:
                return None
            if b.number < len(stage):
                expansion, kernel = map(int, stage[b.number].split("k"))
                wanted |= {b.expansion_gene: expansion}
                if b.kernel_gene >= 0:
                    wanted[b.kernel_gene] = kernel
                elif kernel != b.kernel:
                    return None
        # an option that does not exist becomes a gene out of range, which `check` names
        return tuple(_index(c.options, wanted[i]) if i in wanted else 0 for i, c in enumerate(self.choices))

    # --- the network --------------------------------------------------------------------------------------------------

    def start(self) -> tuple[Sequence[Layer], MapState]:
        """Return no layers: even the stem depends on the resolution."""
        return (), MapState(self.in_channels, 0)

    def step(self, i: int, state: MapState, genes: Arch) -> tuple[Sequence[Layer], MapState] | None:
        """Return the stem and the first stage, or a block; nothing for a block that the depth leaves out."""
        if i == 0:
            resolution = self.resolutions[genes[0]]
            out = halved(resolution, 2)
            stem = Layer("stem", "conv", self.in_channels, STEM_WIDTH, resolution, out, 3, 2, **EVERY)
            _, kernel, stride, channels, _ = B0_STAGES[0]
            first = _block(1, 0, MapState(STEM_WIDTH, out), make_divisible(channels * self.width), kernel, stride, 1)
            return [stem, first], MapState(first.c_out, first.resolution_out)
        b, taken = self.blocks[i - 1], dict(zip(self.slots[i], genes, strict=True))
        values = {g: self.choices[g].options[option] for g, option in taken.items()}
        if not b.number:
            state = state._replace(depth=values.get(b.depth_gene, b.number + 1))
        left_out = b.number >= state.depth and b.depth_gene >= 0
        if left_out and any(genes):
            return None
        layers = []
        if not left_out:
            kernel = values.get(b.kernel_gene, b.kernel)
            layers.append(_block(b.stage, b.number, state, b.channels, kernel, b.stride, values[b.expansion_gene]))
            state = state._replace(channels=b.channels, resolution=layers[0].resolution_out)
        return layers, state._replace(depth=0) if b.last else state

    def finish(self, state: MapState) -> Sequence[Layer]:
        """Return head, pooling and classifier."""
        c, resolution = state.channels, state.resolution
        return [
            Layer("head.conv", "conv", c, HEAD_WIDTH, resolution, resolution, **EVERY),
            Layer("head.pool", "gap", HEAD_WIDTH, HEAD_WIDTH, resolution, 1),
            Layer("classifier", "linear", HEAD_WIDTH, self.classes, 1, 1),
        ]


def _block(stage: int, number: int, state: MapState, c_out: int, kernel: int, stride: int, expansion: int) -> Layer:
    c_in, out = state.channels, halved(state.resolution, stride)
    return Layer(
        f"stage{stage}.{number}", "mbconv", c_in, c_out, state.resolution, out, kernel, stride, expansion,
        c_in * expansion, shortcut="identity" if stride == 1 and c_in == c_out else "", stage=stage, **EVERY,
    )  # fmt: skip


def _index(options: tuple[Any, ...], value: int) -> int:
    return options.index(value) if value in options else len(options)
