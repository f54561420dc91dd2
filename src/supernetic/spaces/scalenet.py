"""ScaleNet: a base network chosen jointly with the strategy that scales it.

Paper: "ScaleNet", Tables 1 and 2, equations 14-16.
Differences: resolutions are the released code's pixels, because Table 3 cannot be had from Table 2's factors. The
released configuration is narrower than Table 1 (`released=True`: expansion 6, always squeeze-excite).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from ..blueprint import Layer, halved
from ..errors import ArchError, InputError, UnknownNameError
from ..space import Arch, Choice, SequentialSpace
from ..strategy import Scaling, by_hidden, ceil_of
from .scaled import SCALING_GENES, Scaled, Strategies

WIDTHS = (32, 16, 32, 40, 80, 96, 192, 320)  # of the stem and the seven stages
STRIDES = (2, 1, 2, 2, 2, 1, 2, 1)
MAX_DEPTHS = (0, 1, 4, 4, 4, 4, 4, 1)  # blocks per stage; a stage that may have several has a depth gene
HEAD_WIDTH, BASE_RESOLUTION = 1280, 224
KERNELS = (3, 5, 7)

# Table 2; depth and width share their factors.
FACTORS = (
    (1.0,),
    (1.04, 1.08, 1.12, 1.16),
    (1.20, 1.24, 1.28, 1.32, 1.36),
    (1.40, 1.44, 1.48, 1.52, 1.56, 1.60, 1.64),
)
PIXELS = ((224,), (224, 240, 256), (272, 288, 304), (320, 336, 354))


@dataclass(frozen=True)
class ScaleNetBase(SequentialSpace):
    """ScaleNet's space of unscaled networks, with seven stages.

    The middle five stages have a depth gene, then a gene per block, which is 0 if the depth leaves the block out.
    """

    resolution: int = BASE_RESOLUTION
    classes: int = 1000
    in_channels: int = 3
    width: float = 1.0  # multiplies the channels of stem and stages, but not of the head; .5 on ImageNet-100
    released: bool = False
    spatial: str = "ceil"

    name: ClassVar[str] = "scalenet-base"
    paper: ClassVar[str] = "ScaleNet"
    sharing: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        Scaling(spatial=self.spatial)  # raises an error for an unknown convention

    # --- encoding -----------------------------------------------------------------------------------------------------

    @cached_property
    def _blocks(self) -> tuple[tuple[int, int, bool], ...]:
        """(expansion, kernel, squeeze-excite) by option, for stages 2 to 7."""
        return tuple(product((6,) if self.released else (3, 6), KERNELS, (True,) if self.released else (False, True)))

    @cached_property
    def _first_blocks(self) -> tuple[tuple[int, int, bool], ...]:
        """The same for stage 1, which does not expand."""
        return tuple((1, k, se) for e, k, se in self._blocks if e == 6)

    def _options(self, stage: int) -> tuple[tuple[int, int, bool], ...]:
        return self._first_blocks if stage == 1 else self._blocks

    def _labels(self, stage: int) -> tuple[str, ...]:
        return tuple(f"MB{e}_K{k}" + "_SE" * se for e, k, se in self._options(stage))

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """(stage, block) that each gene decides; block -1 is the depth of the stage."""
        return tuple((s, b) for s in range(1, 8) for b in range(-1 if MAX_DEPTHS[s] > 1 else 0, MAX_DEPTHS[s]))

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The 27 genes."""
        choices: list[Choice] = []
        for stage, block in self.places:
            if block < 0:
                depth = len(choices)
                choices.append(Choice(f"stage{stage}.depth", tuple(range(1, MAX_DEPTHS[stage] + 1))))
                continue
            labels = self._labels(stage)
            allowed = tuple(len(labels) if block < n else 1 for n in range(1, MAX_DEPTHS[stage] + 1)) if block else ()
            choices.append(Choice(f"stage{stage}.{block}", labels, depth if block else -1, allowed))
        return tuple(choices)

    def format(self, arch: Arch) -> str:
        """Write the blocks of the seven stages as `MB1_K3 | MB6_K5_SE MB3_K3 | ...`."""
        stages: dict[int, list[str]] = {}
        depth = 1
        for (stage, block), gene in zip(self.places, arch, strict=True):
            if block < 0:
                depth = gene + 1
            elif block == 0 or block < depth:
                stages.setdefault(stage, []).append(self._labels(stage)[gene])
        return " | ".join(" ".join(blocks) for blocks in stages.values())

    def _parse(self, text: str) -> Arch | None:
        stages = text.split("|")
        if len(stages) != 7:
            return None
        genes: list[int] = []
        for stage, words in enumerate((s.split() for s in stages), 1):
            labels = self._labels(stage)
            if not 1 <= len(words) <= MAX_DEPTHS[stage]:
                raise ArchError(f"{self.name}: stage {stage} has 1..{MAX_DEPTHS[stage]} blocks, got {len(words)}")
            for word in words:
                if word not in labels:
                    raise UnknownNameError(f"block of stage {stage}", word, labels)
            genes += [len(words) - 1] if MAX_DEPTHS[stage] > 1 else []
            genes += [labels.index(word) for word in words] + [0] * (MAX_DEPTHS[stage] - len(words))
        return tuple(genes)

    # --- the network --------------------------------------------------------------------------------------------------

    @cached_property
    def _maps(self) -> tuple[tuple[int, int], ...]:
        """(channels, resolution) behind the stem and each stage."""
        maps, resolution = [], self.resolution
        for c, stride in zip(WIDTHS, STRIDES, strict=True):
            resolution = halved(resolution, stride, self.spatial)
            maps.append((ceil_of(c * self.width), resolution))
        return tuple(maps)

    def start(self) -> tuple[Sequence[Layer], int]:
        """Return the stem. The state is only the depth of the current stage, 0 between stages: the rest is fixed."""
        c, resolution = self._maps[0]
        return [Layer("stem", "conv", self.in_channels, c, self.resolution, resolution, 3, 2, act="hswish")], 0

    def step(self, i: int, state: int, genes: Arch) -> tuple[Sequence[Layer], int] | None:
        """Return one block, or no layer for a depth."""
        stage, block = self.places[i]
        if block < 0:
            return (), genes[0] + 1
        following = 0 if block == MAX_DEPTHS[stage] - 1 else state
        if block < max(state, 1):
            return [self._block(stage, block, genes[0])], following
        return None if genes[0] else ((), following)

    def _block(self, stage: int, block: int, option: int) -> Layer:
        (c_in, resolution), (c, out) = self._maps[stage if block else stage - 1], self._maps[stage]
        e, k, se = self._options(stage)[option]
        stride, hidden = 1 if block else STRIDES[stage], c_in * e
        return Layer(
            f"stage{stage}.{block}", "mbconv", c_in, c, resolution, out, k, stride, e, hidden,
            se=max(1, hidden // 4) * se, act="hswish", stage=stage,
            shortcut="identity" if stride == 1 and c_in == c else "",
        )  # fmt: skip

    def finish(self, state: int) -> Sequence[Layer]:
        """Return 1x1 convolution, pooling and classifier."""
        c, resolution = self._maps[-1]
        return [
            Layer("head.conv", "conv", c, HEAD_WIDTH, resolution, resolution, act="hswish"),
            Layer("head.pool", "gap", HEAD_WIDTH, HEAD_WIDTH, resolution, 1),
            Layer("classifier", "linear", HEAD_WIDTH, self.classes, 1, 1),
        ]


@dataclass(frozen=True)
class ScaleNet(Scaled, SequentialSpace):
    """ScaleNet's base space times its strategies, as an automaton: 1.16e26 encodings."""

    resolution: int = BASE_RESOLUTION  # of the unscaled network; those of the others keep their ratio to it
    classes: int = 1000
    in_channels: int = 3
    width: float = 1.0
    released: bool = False
    rule: str = "scalenet"
    spatial: str = "ceil"
    stages: int = len(FACTORS) - 1  # of Table 2, without the unscaled one

    name: ClassVar[str] = "scalenet"

    def __post_init__(self) -> None:
        Scaling(rule=self.rule, spatial=self.spatial)  # raises an error for unknown names
        if not 1 <= self.stages < len(FACTORS):
            raise InputError(f"{self.name}: stages must lie in 1..{len(FACTORS) - 1}, as in Table 2, got {self.stages}")

    @cached_property
    def base(self) -> ScaleNetBase:
        """The space of unscaled networks, Table 1."""
        return ScaleNetBase(self.resolution, self.classes, self.in_channels, self.width, self.released, self.spatial)

    @cached_property
    def strategies(self) -> Strategies:
        """The strategies, Table 2."""
        factor = self.resolution / BASE_RESOLUTION
        pixels = tuple(tuple(ceil_of(p * factor) for p in stage) for stage in PIXELS[: self.stages + 1])
        return Strategies(FACTORS[: self.stages + 1], pixels, self.rule, self.spatial)

    @cached_property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """The strategy in one step, then gene by gene."""
        return (tuple(range(SCALING_GENES)), *((i,) for i in range(SCALING_GENES, len(self.choices))))

    def start(self) -> tuple[Sequence[Layer], None]:
        """Return no layers: even the stem is scaled."""
        return (), None

    def step(self, i: int, state: Any, genes: Arch) -> tuple[Sequence[Layer], Any] | None:
        """Return the stem under a strategy; then the layers of the base, scaled.

        The state is (strategy, (channels, resolution), state of the base). The strategy is the simplest of those that
        give the same networks: 100 of the 271 differ.
        """
        if i == 0:
            if genes not in self.strategies:
                return None
            (stem,), inner = self.base.start()
            strategy = self.strategies.simplest(genes, range(1, max(MAX_DEPTHS) + 1))
            scaling = self.strategies[strategy]
            layers, after = scaling.feed((self.in_channels, scaling.pixels(self.resolution)), stem, 1, by_hidden)
            return layers, (strategy, after, inner)
        strategy, outer, inner = state
        taken = self.base.step(i - 1, inner, genes)
        if taken is None or not taken[0]:
            return taken and ((), (strategy, outer, taken[1]))
        scaling, block = self.strategies[strategy], self.base.places[i - 1][1]
        repeats = scaling.repeats(max(inner, 1))[block]
        layers, outer = scaling.feed(outer, taken[0][0], repeats, by_hidden)
        return layers, (strategy, outer, taken[1])

    def finish(self, state: Any) -> Sequence[Layer]:
        """Return the head."""
        strategy, outer, inner = state
        layers: list[Layer] = []
        for layer in self.base.finish(inner):
            scaled, outer = self.strategies[strategy].feed(outer, layer, 1, by_hidden)
            layers += scaled
        return layers
