"""Mixed: stages of plain convolutions, residual blocks or inverted bottlenecks, for training and use on CPUs.

Paper: ours. Depthwise convolutions have few MACs, but CPUs compute those slowly; plain convolutions make up for more
MACs by speed. Which of them a budget is best spent on differs from stage to stage, so the kind of block is a gene. The
blocks are those of VGG, of ResNet (basic blocks) and of MobileNetV2 (expansion 4).

Networks of plain convolutions learn most in a few minutes, those of bottlenecks in an hour: they see fewer images, and
learn more from each (docs/findings/prospects.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import log2
from typing import Any, ClassVar

from ..blueprint import Layer, halved, make_divisible
from ..errors import InputError
from ..space import Arch, Choice, SequentialSpace

STEMS = ("s1", "s2", "n1")  # stride 1, stride 2, narrow with stride 1
HEADS = (0, 4)  # channels of a 1x1 convolution before pooling, by the last stage's base width; 0: there is none
KINDS = ("plain", "residual", "mbconv")  # of a stage's blocks; names of architectures have the first letters
WIDTHS = (0.5, 0.75, 0.875, 1.0, 1.25, 1.5, 2.0)  # factors of a stage's base width
DEPTHS = (1, 2, 3)  # blocks of a stage
WIDTH_DIVISOR = 4
EXPANSION = 4
LAST_RESOLUTION = 4  # pixels of the last map, about, behind a stem of stride 2
MAX_STAGES = 6
STAGE_NAME = re.compile(r"([a-z])([\d.]+)x(\d+)")


@dataclass(frozen=True)
class Mixed(SequentialSpace):
    """A stem, then stages, each with its own kind of block, width and depth; a head; pooling and classifier.

    Each stage but the first opens with stride 2, and has twice the base width of the one before. Where images are first
    halved depends on the stem: `s2` does it itself; behind `n1`, a narrow one that looks at all pixels, the first stage
    does; behind `s1` the second stage does.

    There are as many stages, at most 6, as bring the last map behind a stem of stride 2 nearest to 4 pixels (3 to 6): 3
    for images of 23 to 45 pixels, 4 up to 90, 5 up to 181.

    `s2-p1.0x2-r1.5x1-m0.75x3-h4` is a stem of stride 2, two plain convolutions of the base width, a residual block of
    one and a half times the base width, three inverted bottlenecks of three quarters of it, and a head of four times
    the base width. Without `-h4` there is no head.
    """

    channels: int = 16  # of the stem, and base width of the first stage
    resolution: int = 32
    classes: int = 10
    in_channels: int = 3

    name: ClassVar[str] = "mixed"
    paper: ClassVar[str] = ""
    sharing: ClassVar[str] = "elastic"

    def __post_init__(self) -> None:
        for field in ("channels", "resolution"):
            if getattr(self, field) < 1:
                raise InputError(f"{self.name}: {field} must be positive, got {getattr(self, field)}")

    @property
    def stages(self) -> int:
        """The number of stages, which follows from the resolution."""
        return min(max(round(log2(self.resolution / LAST_RESOLUTION)), 1), MAX_STAGES)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The stem; then kind, width and depth of each stage; the head."""
        options = {"kind": KINDS, "width": WIDTHS, "depth": DEPTHS}
        stages = range(1, self.stages + 1)
        return (
            Choice("stem", STEMS),
            *(Choice(f"stage{s}.{what}", values) for s in stages for what, values in options.items()),
            Choice("head", HEADS),
        )

    @cached_property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """The stem; then the three genes of each stage; the head."""
        stages = range(self.stages)
        return ((0,), *((3 * s + 1, 3 * s + 2, 3 * s + 3) for s in stages), (3 * self.stages + 1,))

    def canonical(self, arch: Arch) -> Arch:
        """Take the smallest of the factors that are rounded to the same width; in narrow stages there are several."""
        genes = list(arch)
        for stage, (_, at, _) in enumerate(self.slots[1:-1], 1):
            widths = [self.width(stage, factor) for factor in WIDTHS]
            genes[at] = widths.index(widths[genes[at]])
        return tuple(genes)

    def width(self, stage: int, factor: float = 1.0) -> int:
        """Channels of a stage, counted from 1: a multiple of 4."""
        return make_divisible(self.channels * 2 ** (stage - 1) * factor, WIDTH_DIVISOR)

    def regular(self) -> list[list[Arch]]:
        """Networks as one would write them by hand: every stage has the same kind of block and the same depth.

        Bottlenecks have a head. One more shape has a single plain convolution in the first stage, where large maps make
        bottlenecks slow, and bottlenecks behind it.

        Returns:
            For each shape the architectures of all widths; the most promising shapes come first. Width factors are
            alike too, or at most one option apart, so that a limit can be met closely.
        """
        pairs = zip(range(len(WIDTHS)), range(1, len(WIDTHS)), strict=False)
        widths = sorted({row for pair in pairs for row in product(pair, repeat=self.stages)})

        def shape(stem: str, kinds: Sequence[str], depths: Sequence[int], head: int) -> list[Arch]:
            genes = [(KINDS.index(k), DEPTHS.index(d)) for k, d in zip(kinds, depths, strict=True)]
            return [
                (
                    STEMS.index(stem),
                    *(g for (kind, depth), w in zip(genes, row, strict=True) for g in (kind, w, depth)),
                    HEADS.index(head),
                )
                for row in widths
            ]

        def alike(stem: str, kind: str, depth: int) -> list[Arch]:
            return shape(stem, [kind] * self.stages, [depth] * self.stages, 4 if kind == "mbconv" else 0)

        def plain_first(stem: str, depth: int) -> list[Arch]:
            rest = self.stages - 1
            return shape(stem, ["plain", *["mbconv"] * rest], [1, *[depth] * rest], 4)

        return [
            alike("s2", "residual", 1), alike("s2", "plain", 1), alike("n1", "mbconv", 2), plain_first("n1", 3),
            alike("s2", "plain", 2), plain_first("n1", 2), alike("s2", "mbconv", 2), alike("n1", "mbconv", 3),
            alike("s2", "residual", 2), plain_first("s2", 3), alike("s2", "mbconv", 3), alike("s2", "plain", 3),
            alike("n1", "mbconv", 1), alike("s2", "residual", 3), alike("s2", "mbconv", 1), alike("n1", "residual", 1),
            alike("n1", "plain", 2), alike("s1", "plain", 1), alike("s1", "residual", 1),
        ]  # fmt: skip

    # --- notation -----------------------------------------------------------------------------------------------------

    def format(self, arch: Arch) -> str:
        """Write `s2-p1.0x2-r1.5x1-m0.75x3-h4`: stem; kind, width factor and depth of each stage; the head, if any."""
        (stem,), *stages, (head,) = ([self.choices[g].options[arch[g]] for g in slot] for slot in self.slots)
        body = [f"{kind[0]}{width}x{depth}" for kind, width, depth in stages]
        return "-".join([stem, *body, *([f"h{head}"] if head else [])])

    def _parse(self, text: str) -> Arch | None:
        stem, *stages = re.split(r"[\s-]+", text.lower())
        head = stages.pop() if stages and re.fullmatch(r"h\d+", stages[-1]) else "h0"
        found = [STAGE_NAME.fullmatch(stage) for stage in stages]
        if not re.fullmatch(r"[a-z]\d+", stem) or len(found) != self.stages:
            return None
        values: list[Any] = [stem]
        for match in found:
            if match is None or match[2].count(".") > 1 or match[2] == ".":
                return None
            values += [next((k for k in KINDS if k[0] == match[1]), ""), float(match[2]), int(match[3])]
        values.append(int(head[1:]))
        # An option that does not exist becomes a gene out of range, which `check` names.
        return tuple(
            c.options.index(v) if v in c.options else len(c.options) for c, v in zip(self.choices, values, strict=True)
        )

    # --- the network --------------------------------------------------------------------------------------------------

    def start(self) -> tuple[Sequence[Layer], tuple[int, int]]:
        """Return no layers: even the stem depends on a gene. The state is (channels, resolution)."""
        return (), (self.in_channels, self.resolution)

    def step(self, i: int, state: tuple[int, int], genes: Arch) -> tuple[Sequence[Layer], tuple[int, int]]:
        """Return the stem, a stage or the head."""
        c_in, resolution = state
        if i == 0:
            layer = self._stem(STEMS[genes[0]])
            return [layer], (layer.c_out, layer.resolution_out)
        if i > self.stages:
            return self._head(HEADS[genes[0]], state)
        kind, c, depth = KINDS[genes[0]], self.width(i, WIDTHS[genes[1]]), DEPTHS[genes[2]]
        # the first stage halves what a narrow stem left whole, and has weights of its own there
        halves = i > 1 or c_in < self.width(1)
        name = "stage1.n" if i == 1 and halves else f"stage{i}."
        layers = []
        for block in range(depth):
            stride = 2 if block == 0 and halves else 1
            layers.append(_block(f"{name}{block}", kind, c_in, c, resolution, stride)._replace(stage=i))
            c_in, resolution = c, layers[-1].resolution_out
        return layers, (c_in, resolution)

    def _stem(self, stem: str) -> Layer:
        # Its name has the option: layers of one name share weights, and these look at details of different size.
        stride, resolution = int(stem[1:]), self.resolution
        c = self.width(1) // 2 if stem == "n1" else self.width(1)
        out = halved(resolution, stride)
        return Layer(f"stem.{stem}", "conv", self.in_channels, c, resolution, out, 3, stride, act="relu")

    def _head(self, factor: int, state: tuple[int, int]) -> tuple[Sequence[Layer], tuple[int, int]]:
        c_in, resolution = state
        if not factor:
            return [], state
        c = factor * self.width(self.stages)
        return [Layer("head.conv", "conv", c_in, c, resolution, resolution, 1, act="relu")], (c, resolution)

    def finish(self, state: tuple[int, int]) -> Sequence[Layer]:
        """Return pooling and classifier."""
        c, resolution = state
        return [
            Layer("head.pool", "gap", c, c, resolution, 1),
            Layer("classifier", "linear", c, self.classes, 1, 1),
        ]


def _block(name: str, kind: str, c_in: int, c_out: int, resolution: int, stride: int) -> Layer:
    layer = Layer(name, "conv", c_in, c_out, resolution, halved(resolution, stride), 3, stride, act="relu")
    same = stride == 1 and c_in == c_out
    if kind == "residual":
        return layer._replace(kind="residual", shortcut="identity" if same else "project")
    if kind == "mbconv":
        return layer._replace(
            kind="mbconv", expansion=EXPANSION, hidden=EXPANSION * c_in, shortcut="identity" if same else ""
        )
    return layer
